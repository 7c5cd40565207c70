import { nearestName } from '@svc/core'
import { DirectiveCall, type ReadingTools } from '../directives/directive-call.ts'
import {
  groupKeepaliveRequests,
  groupKeepaliveTime,
  groupKeepaliveTimeout,
  hash,
  keepalive,
  type PassTarget,
  upstreamServer,
  zone,
} from '../directives/upstreams.ts'
import type { ResolverSpec, Template, UpstreamServerSpec, UpstreamSpec, UpstreamTarget } from '../spec/spec.ts'
import { formatPlace } from '../syntax/config-problem.ts'
import { decodeBytes } from '../syntax/source-file.ts'
import { shown } from '../syntax/vhost-problems.ts'
import { directUpstream, readUpstreamAddress } from '../values/addresses.ts'
import { isConstant, leadingText } from '../values/template.ts'
import { Level } from './level.ts'
import { resolverSpec } from './resolver-spec.ts'

/** The groups of servers, and the servers that are named directly. */
export class UpstreamTable {
  readonly #groups = new Map<string, { readonly spec: UpstreamSpec; readonly call: DirectiveCall }>()
  readonly #direct = new Map<string, UpstreamSpec>()

  /** Reads an `upstream` block. */
  addGroup(call: DirectiveCall, main: Level, tools: ReadingTools): void {
    const name = call.text(0)
    const level = new Level('upstream', main)
    level.read(call.directive.block ?? [], tools)
    const servers = level.own(upstreamServer)
    const known = this.#groups.get(name)
    if (known !== undefined) {
      call.fail(`duplicate upstream "${shown(call.arg(0))}"`, 0, `first at ${formatPlace(known.call.place)}`)
      return
    }
    // A server that could not be read has its own problem.
    const isEmpty = (call.directive.block ?? []).every((directive) => directive.name.text !== 'server')
    if (isEmpty) call.fail(`no servers are inside upstream "${shown(call.arg(0))}"`)
    checkBackups(call)
    this.#groups.set(name, { call, spec: { name, ...groupSpec(level, call, servers), servers } })
  }

  /** The destination of a request. undefined: the address is wrong, which was reported. */
  target({ call, host, defaultPort }: PassTarget): UpstreamTarget | undefined {
    if (!isConstant(host)) return { kind: 'computed', host: decoded(host) }
    const text = decodeBytes(leadingText(host))
    if (this.#groups.has(text)) return { kind: 'fixed', upstream: text, host: text }
    const read = readUpstreamAddress(text, defaultPort)
    if ('error' in read) return call.fail(`${read.error} in upstream "${shown(text)}"`, 0, hintFor(text, read.error))
    const group = /^(.*):(\d+)$/.exec(text)
    if (group !== null && this.#groups.has(group[1] ?? ''))
      return call.fail(`upstream "${shown(group[1] ?? '')}" may not have port ${group[2]}`, 0)
    this.#noticeMistyped(call, text)
    const { address } = read
    call.tools.needs.addSocket(address, call.place)
    if (!this.#direct.has(address)) this.#direct.set(address, directUpstream(address))
    return { kind: 'fixed', upstream: address, host: text }
  }

  /** A name without dot, port or path that is almost that of a group is taken for a host all the same. */
  #noticeMistyped(call: DirectiveCall, text: string): void {
    const near = /^[\w-]+$/.test(text) && text !== 'localhost' ? nearestName(text, this.#groups.keys()) : undefined
    if (near === undefined) return
    call.notice(`upstream "${text}" is not defined: it is resolved as a host name (did you mean "${near}"?)`)
  }

  get specs(): UpstreamSpec[] {
    const groups = [...this.#groups.values()].map(({ spec }) => spec)
    // A group that is named like an address stands for it.
    return [...groups, ...[...this.#direct.values()].filter(({ name }) => !this.#groups.has(name))]
  }
}

/** Groups for which a method needs to know the servers: it may not come before one that is a backup. */
function checkBackups({ directive, tools }: DirectiveCall): void {
  const block = directive.block ?? []
  const method = block.findIndex(({ name }) => /^(?:ip_hash|hash|random)$/.test(name.text))
  const backup = block.find(({ name, args }, at) => method >= 0 && at > method && isBackupServer(name.text, args))
  if (backup !== undefined) new DirectiveCall(backup, tools).fail('balancing method does not support parameter "backup"')
}

function isBackupServer(name: string, args: readonly { readonly text: string }[]): boolean {
  return name === 'server' && args.some(({ text }) => text === 'backup')
}

/** Points of the ring of `consistent` hashes are made for each unit of weight. */
const MAX_CONSISTENT_WEIGHT = 10_000

function groupSpec(
  level: Level,
  call: DirectiveCall,
  servers: readonly UpstreamServerSpec[],
): Omit<UpstreamSpec, 'name' | 'servers'> {
  const [method] = level.own(hash)
  const isHash = typeof method === 'object'
  const balance = !isHash ? (method ?? 'round_robin') : method.isConsistent ? 'consistent_hash' : 'hash'
  const weight = servers.reduce((sum, server) => sum + server.weight, 0)
  if (balance === 'consistent_hash' && weight > MAX_CONSISTENT_WEIGHT)
    call.fail(`the weights of upstream "${shown(call.arg(0))}" add up to more than ${MAX_CONSISTENT_WEIGHT}`)
  const hasZone = level.own(zone).length > 0
  const resolver = servers.some(({ isResolved }) => isResolved === true) ? resolverOf(level, call, hasZone) : undefined
  const [idleMs, requests, ageMs] = [groupKeepaliveTimeout, groupKeepaliveRequests, groupKeepaliveTime].map(
    (one) => level.own(one)[0],
  )
  const reuse = {
    ...(idleMs !== undefined && { idleMs }),
    ...(requests !== undefined && { requests }),
    ...(ageMs !== undefined && { ageMs }),
  }
  return {
    balance,
    keepalive: level.value(keepalive),
    ...(isHash && { hashKey: method.key }),
    ...(Object.keys(reuse).length > 0 && { reuse }),
    ...(hasZone && { hasZone }),
    ...(resolver !== undefined && { resolver }),
  }
}

function resolverOf(level: Level, call: DirectiveCall, hasZone: boolean): ResolverSpec | undefined {
  const name = shown(call.arg(0))
  if (!hasZone)
    call.fail(`resolving names at run time requires upstream "${name}" to be in shared memory`, undefined, 'add "zone"')
  const resolver = resolverSpec(level)
  if (resolver === undefined) call.fail(`no resolver defined to resolve names at run time in upstream "${name}"`)
  return resolver
}

/** A word without port is more often the name of a group than an address. */
function hintFor(text: string, error: string): string | undefined {
  if (error !== 'no port' || !/^[\w.-]*[A-Za-z][\w.-]*$/.test(text)) return undefined
  return `no such upstream; an address needs a port, such as ${text}:9000`
}

function decoded(template: Template): Template {
  return template.map((piece) => (typeof piece === 'string' ? decodeBytes(piece) : piece))
}
