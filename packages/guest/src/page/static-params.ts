import type { SegmentNode } from '@svc/site'
import { requireModule } from '../registry/registry.ts'
import type { GuestRequest } from '../request/guest-request.ts'
import { openScope } from '../scope/request-scope.ts'
import { RouterError } from '../scope/router-error.ts'
import { exportsOf, type ModuleExports } from './module-exports.ts'
import { childrenLine, type Params } from './page-input.ts'

interface ParamLevel {
  readonly file: string
  readonly exports: ModuleExports
}

/**
 * All parameter sets that the `generateStaticParams` of a chain name, from the root down: each is called once for each set
 * of those above it and adds to it. undefined: no module of the chain generates any.
 */
async function staticParams(levels: readonly ParamLevel[]): Promise<readonly Params[] | undefined> {
  let sets: readonly Params[] | undefined
  for (const { file, exports } of levels) {
    const generate = exports['generateStaticParams']
    if (typeof generate !== 'function') continue
    const next: Params[] = []
    for (const above of sets ?? [{}]) {
      const own: unknown = await generate({ params: above })
      if (!Array.isArray(own)) throw new RouterError('ROUTER_BAD_EXPORT', `${file}: generateStaticParams did not return a list.`)
      for (const set of own) next.push({ ...above, ...(set as Params) })
    }
    sets = next
  }
  return sets
}

/** True if `dynamicParams = false` lets a request through: its parameters are one of the generated sets. */
export async function isKnownParams(levels: readonly ParamLevel[], params: Params): Promise<boolean> {
  const names = Object.keys(params)
  if (names.length === 0) return true
  const sets = (await staticParams(levels)) ?? []
  return sets.some((set) => names.every((name) => isSame(set[name], params[name])))
}

function isSame(left: unknown, right: unknown): boolean {
  const text = (value: unknown) =>
    Array.isArray(value) ? value.map(encodeURIComponent).join('/') : encodeURIComponent(String(value))
  return left !== undefined && right !== undefined && text(left) === text(right)
}

/** The modules of a page's tree that may have `generateStaticParams`. */
export function paramLevels(tree: SegmentNode): readonly ParamLevel[] {
  const files = childrenLine(tree).flatMap(({ layout, page }) => [layout ?? [], page ?? []].flat())
  return files.map((file) => ({ file, exports: exportsOf(file) }))
}

/** Names of the parameters on the way to the page. */
export function paramNames(tree: SegmentNode): readonly string[] {
  return childrenLine(tree).flatMap(({ param }) => param ?? [])
}

/**
 * Answers with what `generateStaticParams` of a route names, as JSON: a list of parameter sets, empty where nothing generates
 * any. Kind `static-paths` of a request.
 */
export async function runStaticPaths(guest: GuestRequest): Promise<void> {
  const { route } = guest
  if (route === undefined) throw new RouterError('ROUTER_MISUSE', 'The request names no route.')
  const scope = openScope(guest, 'page')
  const { file, tree } = route
  const sets = await scope.run(() => staticParams(tree === null ? [{ file, exports: requireModule(file) }] : paramLevels(tree)))
  guest.answer.complete({ status: 200, headers: [['content-type', 'application/json']] }, JSON.stringify(sets ?? []))
}
