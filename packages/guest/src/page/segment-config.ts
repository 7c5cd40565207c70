import type { SegmentNode } from '@svc/site'
import type { DynamicMode, FetchCacheMode, RequestScope } from '../scope/request-scope.ts'
import { RouterError } from '../scope/router-error.ts'
import { exportsOf, type ModuleExports } from './module-exports.ts'
import { childrenLine } from './page-input.ts'

/** Caching and parameter settings of a route, from its layouts down to its page or handler. */
interface SegmentConfig {
  readonly dynamic: DynamicMode
  readonly fetchCache: FetchCacheMode
  /** The lowest of the chain; undefined: not set. */
  readonly revalidate: number | false | undefined
  /** False when any segment says so. */
  readonly dynamicParams: boolean
}

const dynamicModes: readonly string[] = ['auto', 'force-dynamic', 'force-static', 'error']
const fetchCacheModes: readonly string[] = [
  'auto',
  'default-cache',
  'only-cache',
  'force-cache',
  'force-no-store',
  'default-no-store',
  'only-no-store',
]

/**
 * Merges the config exports of a chain of modules. `force-dynamic` anywhere makes the whole route dynamic; of the other
 * modes the deepest counts. Throws ROUTER_BAD_EXPORT for a value that is none of those allowed.
 */
export function mergeConfig(chain: readonly (readonly [file: string, exports: ModuleExports])[]): SegmentConfig {
  let dynamic: DynamicMode = 'auto'
  let fetchCache: FetchCacheMode = 'auto'
  let revalidate: number | false | undefined
  let dynamicParams = true
  for (const [file, exports] of chain) {
    const mode = oneOf(file, 'dynamic', exports['dynamic'], dynamicModes) as DynamicMode | undefined
    if (mode !== undefined && dynamic !== 'force-dynamic') dynamic = mode
    fetchCache = (oneOf(file, 'fetchCache', exports['fetchCache'], fetchCacheModes) as FetchCacheMode | undefined) ?? fetchCache
    revalidate = lowest(revalidate, revalidateOf(file, exports['revalidate']))
    if (exports['dynamicParams'] === false) dynamicParams = false
  }
  return { dynamic, fetchCache, revalidate, dynamicParams }
}

/** Applies a config to the request: what helpers may read, and the facts for caching. */
export function applyConfig(scope: RequestScope, config: SegmentConfig): void {
  const { facts } = scope.guest
  scope.dynamic = config.dynamic
  scope.fetchCache = config.fetchCache
  if (config.revalidate !== undefined) facts.limitRevalidate(config.revalidate)
  if (config.dynamic === 'force-dynamic') {
    facts.reads.add('no-store')
    facts.limitRevalidate(0)
  }
}

/** Modules of a page's tree that have a say in its config and head: layouts and page of the `children` line, root first. */
export function configChain(tree: SegmentNode): readonly (readonly [file: string, exports: ModuleExports])[] {
  const chain: (readonly [string, ModuleExports])[] = []
  for (const node of childrenLine(tree)) {
    if (node.layout !== undefined) chain.push([node.layout, exportsOf(node.layout)])
    const leaf = node.page ?? node.default
    if (leaf !== undefined) chain.push([leaf, exportsOf(leaf)])
  }
  return chain
}

function lowest(left: number | false | undefined, right: number | false | undefined): number | false | undefined {
  if (left === undefined || left === false) return right ?? left
  return right === undefined || right === false ? left : Math.min(left, right)
}

function revalidateOf(file: string, value: unknown): number | false | undefined {
  if (value === undefined || value === false) return value
  if (typeof value === 'number' && value >= 0 && Number.isFinite(value)) return value
  throw new RouterError('ROUTER_BAD_EXPORT', `${file}: revalidate must be a number of seconds, 0 or false.`)
}

function oneOf(file: string, name: string, value: unknown, allowed: readonly string[]): string | undefined {
  if (value === undefined) return undefined
  if (typeof value === 'string' && allowed.includes(value)) return value
  throw new RouterError('ROUTER_BAD_EXPORT', `${file}: ${name} must be one of ${allowed.join(', ')}.`)
}
