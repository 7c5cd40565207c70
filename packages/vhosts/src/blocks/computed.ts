import { isCidr } from '@svc/http'
import { DirectiveCall, type ReadingTools } from '../directives/directive-call.ts'
import type { GeoSpec, SplitSpec } from '../spec/guard.ts'
import { shown } from '../syntax/vhost-problems.ts'
import { noteRedefinition } from './map.ts'

/** Entries of all blocks together: the tables of all countries, several times. */
const MAX_NETWORKS = 1_000_000

/** Defines the variable of a block. Undefined: it cannot be defined, which was reported. */
function variableOf(call: DirectiveCall, known: Map<string, DirectiveCall>): string | undefined {
  const index = call.args.length - 1
  const name = /^\$([A-Za-z0-9_]+)$/.exec(call.arg(index))?.[1]
  if (name === undefined) return call.fail(`invalid variable name "${shown(call.arg(index))}"`, index)
  noteRedefinition(call, name, known)
  const { variables } = call.tools
  if (variables.isFixed(name)) return call.fail(`the duplicate "${name}" variable`, index, 'it is a built-in variable')
  known.set(name, call)
  variables.define(name)
  return name
}

/** A block of `geo` as far as it was read. */
class GeoDraft {
  readonly networks = new Map<string, string>()
  readonly proxies: string[] = []
  fallback = ''
  isRecursive = false

  add(call: DirectiveCall): void {
    const key = call.name
    if (call.directive.block === undefined && call.args.length === 0) {
      if (key === 'ranges') call.fail('"ranges" is not available here', undefined, 'write networks, such as 10.0.0.0/8')
      else if (key === 'proxy_recursive') this.isRecursive = true
      else if (key !== 'volatile') call.fail('invalid number of the geo parameters')
      return
    }
    if (call.directive.block !== undefined || call.args.length !== 1) {
      call.fail('invalid number of the geo parameters')
      return
    }
    const isAbout = key === 'delete' || key === 'proxy'
    const network = (isAbout ? call.arg(0) : key).toLowerCase()
    if (key === 'default') this.fallback = call.arg(0)
    else if (!isCidr(network)) call.fail(`invalid network "${shown(network)}"`, isAbout ? 0 : undefined)
    else if (key === 'proxy') this.proxies.push(network)
    else if (key === 'delete') this.networks.delete(network)
    else {
      // The last of two counts.
      this.networks.delete(network)
      this.networks.set(network, call.arg(0))
    }
  }
}

/** Reads a `geo` block. */
export function readGeo(call: DirectiveCall, tools: ReadingTools, known: Map<string, DirectiveCall>): GeoSpec | undefined {
  const source = call.args.length === 1 ? undefined : call.template(0)
  const variable = variableOf(call, known)
  const draft = new GeoDraft()
  const entries = call.directive.block ?? []
  if (entries.length > MAX_NETWORKS) return call.fail(`more than ${MAX_NETWORKS} networks`)
  for (const entry of entries) draft.add(new DirectiveCall(entry, tools))
  if (variable === undefined) return undefined
  const { networks, proxies, fallback, isRecursive } = draft
  return { kind: 'geo', variable, source, networks: [...networks], fallback, proxies, isRecursive }
}

/** Hundredths of a percent. */
const WHOLE = 10_000
const MAX_HASH = 0xffffffff

function hundredths(call: DirectiveCall): number | undefined {
  const match = /^(\d{1,3})(?:\.(\d{1,2}))?%$/.exec(call.name)
  const share = match === null ? 0 : Number(match[1]) * 100 + Number((match[2] ?? '').padEnd(2, '0'))
  return share === 0 ? call.fail(`invalid percent value "${shown(call.name)}"`) : share
}

/** Reads a `split_clients` block. */
export function readSplit(call: DirectiveCall, tools: ReadingTools, known: Map<string, DirectiveCall>): SplitSpec | undefined {
  const source = call.template(0)
  const variable = variableOf(call, known)
  const parts: { below: number; value: string }[] = []
  let [sum, below] = [0, 0]
  for (const entry of call.directive.block ?? []) {
    const part = new DirectiveCall(entry, tools)
    if (entry.block !== undefined || part.args.length !== 1) {
      part.fail('invalid number of the split_clients parameters')
      continue
    }
    const isRest = part.name === '*'
    const share = isRest ? WHOLE - sum : hundredths(part)
    if (share === undefined) continue
    sum += share
    if (sum > WHOLE) part.fail('percent total is greater than 100%')
    below += Math.floor((share * MAX_HASH) / WHOLE)
    parts.push({ below: sum >= WHOLE ? Number.MAX_SAFE_INTEGER : below, value: part.arg(0) })
  }
  return variable === undefined || source === undefined ? undefined : { kind: 'split', variable, source, parts }
}
