import { nearestName } from '@svc/core'
import type { DirectiveCall, ReadingTools } from '../directives/directive-call.ts'
import { ipHash, keepalive, leastConn, type PassTarget, upstreamServer } from '../directives/upstreams.ts'
import type { Template, UpstreamSpec, UpstreamTarget } from '../spec/spec.ts'
import { formatPlace } from '../syntax/config-problem.ts'
import { decodeBytes } from '../syntax/source-file.ts'
import { shown } from '../syntax/vhost-problems.ts'
import { directUpstream, readUpstreamAddress } from '../values/addresses.ts'
import { isConstant, leadingText } from '../values/template.ts'
import { Level } from './level.ts'

/** The groups of servers, and the servers that are named directly. */
export class UpstreamTable {
  readonly #groups = new Map<string, { readonly spec: UpstreamSpec; readonly call: DirectiveCall }>()
  readonly #direct = new Map<string, UpstreamSpec>()

  /** Reads an `upstream` block. */
  addGroup(call: DirectiveCall, tools: ReadingTools): void {
    const name = call.text(0)
    const level = new Level('upstream')
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
    const balance = level.value(leastConn) ?? level.value(ipHash) ?? 'round_robin'
    if (balance === 'ip_hash' && servers.some(({ isBackup }) => isBackup))
      call.fail('balancing method does not support parameter "backup"')
    this.#groups.set(name, { call, spec: { name, balance, keepalive: level.value(keepalive), servers } })
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

/** A word without port is more often the name of a group than an address. */
function hintFor(text: string, error: string): string | undefined {
  if (error !== 'no port' || !/^[\w.-]*[A-Za-z][\w.-]*$/.test(text)) return undefined
  return `no such upstream; an address needs a port, such as ${text}:9000`
}

function decoded(template: Template): Template {
  return template.map((piece) => (typeof piece === 'string' ? decodeBytes(piece) : piece))
}
