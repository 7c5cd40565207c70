import type { RequestOf } from '@svc/core'
import type { controlMethods } from '@svc/protocol'
import { CliError } from '../command-line/errors.ts'

/** A purge for the running server. */
export type PurgeOrder = RequestOf<(typeof controlMethods)['purge']>['order']

type Scopes = PurgeOrder['scopes']

/** Options of `svc purge l0`. */
interface L0Choice {
  readonly path: readonly string[]
  readonly host: string | undefined
}

/** Options of `svc purge isr`. */
interface IsrChoice {
  readonly tag: string | undefined
  readonly pattern: string | undefined
}

/** Options of `svc purge proxy`. */
interface ProxyChoice {
  readonly host: string
  readonly path: readonly string[]
  readonly prefix: readonly string[]
}

function l0Scopes({ path, host }: L0Choice): Scopes {
  const hosts = host === undefined ? null : [host]
  if (path.length > 0) return [{ kind: 'paths', paths: path, hosts }]
  return hosts === null ? [{ kind: 'everything' }] : [{ kind: 'hosts', hosts }]
}

/** Paths on a host or on every host, a whole host, or everything. */
export function l0Order(choice: L0Choice): PurgeOrder {
  return { layers: ['l0'], scopes: l0Scopes(choice), mode: 'drop' }
}

/** One tag, or a pattern over tags. */
export function isrOrder({ tag, pattern }: IsrChoice): PurgeOrder {
  if ((tag === undefined) === (pattern === undefined)) throw new CliError('CLI_USAGE', 'give either --tag or --pattern')
  const scopes: Scopes =
    tag !== undefined ? [{ kind: 'tags', tags: [tag] }] : [{ kind: 'pattern', pattern: pattern ?? '', labels: null }]
  return { layers: ['isr'], scopes, mode: 'drop' }
}

/** Paths and prefixes of a host, or all of it. */
export function proxyOrder({ host, path, prefix }: ProxyChoice): PurgeOrder {
  const hosts = [host]
  const parts: Scopes = [
    { kind: 'paths', paths: path, hosts },
    { kind: 'prefixes', prefixes: prefix, hosts },
  ]
  const isWhole = path.length === 0 && prefix.length === 0
  return { layers: ['proxy'], scopes: isWhole ? [{ kind: 'hosts', hosts }] : parts, mode: 'drop' }
}
