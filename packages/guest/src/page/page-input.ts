import type { Route, SegmentNode } from '@svc/site'
import { lazyReadablePromise, type ReadablePromise, readablePromise } from '../scope/readable-promise.ts'
import { findScope, type RequestScope } from '../scope/request-scope.ts'

/** Query of a URL as a page gets it: a name that occurs more than once has a list. */
type SearchParams = Record<string, string | string[]>

/** Makes the `searchParams` object of a page. Names are own properties, whatever they are called. */
function searchParamsOf(query: URLSearchParams): SearchParams {
  const params: SearchParams = Object.create(null)
  for (const [name, value] of query) {
    const known = params[name]
    if (known === undefined) params[name] = value
    else if (Array.isArray(known)) known.push(value)
    else params[name] = [known, value]
  }
  return { ...params }
}

/**
 * A route as the host defines it. For a path that no route matches the host defines one whose `tree` is the manifest's
 * `notFound`, for middleware one whose `file` is the middleware module.
 */
export interface GuestRoute extends Route {
  /** `global-error` of the site. */
  readonly globalError?: string | null
}

/** Parameters of a request. */
export type Params = Readonly<Record<string, string | readonly string[]>>

/** The request as pages and layouts get it; each value is made on first use. */
export class PageInput {
  readonly scope: RequestScope
  readonly #failedFiles = new Set<string>()
  readonly #params = new Map<string, ReadablePromise<Params>>()
  #searchParams: ReadablePromise<SearchParams> | undefined

  constructor(scope: RequestScope) {
    this.scope = scope
  }

  /** Logs that a module of an image failed, once for the request: a page may be built several times. */
  fileFailed(file: string, error: unknown): void {
    if (this.#failedFiles.has(file)) return
    this.#failedFiles.add(file)
    this.scope.guest.answer.handled(error, file)
  }

  /** The parameters that the segments down to some layout define. */
  paramsFor(names: readonly string[]): ReadablePromise<Params> {
    const key = names.join('/')
    const known = this.#params.get(key)
    if (known !== undefined) return known
    const all = this.scope.guest.begin.params
    const made = readablePromise<Params>(Object.fromEntries(Object.entries(all).filter(([name]) => names.includes(name))))
    this.#params.set(key, made)
    return made
  }

  /** All parameters: what a page gets. */
  get allParams(): ReadablePromise<Params> {
    return this.paramsFor(Object.keys(this.scope.guest.begin.params))
  }

  /** The query. Reading it is reported, asking for the promise is not; empty when the segment is `force-static`. */
  get searchParams(): ReadablePromise<SearchParams> {
    const { scope } = this
    this.#searchParams ??= lazyReadablePromise(
      // Inside of unstable_cache() the scope is another than the page's.
      () => void (findScope() ?? scope).read('query', 'searchParams'),
      () => (scope.dynamic === 'force-static' ? {} : searchParamsOf(scope.url.searchParams)),
    )
    return this.#searchParams
  }
}

/** The first argument of a page. Its values are made when they are asked for. */
export function pageProps(input: PageInput): object {
  return {
    get params() {
      return input.allParams
    },
    get searchParams() {
      return input.searchParams
    },
  }
}

/** The nodes of a tree on the way to its page, the root first. */
export function childrenLine(tree: SegmentNode): readonly SegmentNode[] {
  const next = tree.slots['children']
  return next ? [tree, ...childrenLine(next)] : [tree]
}

/** The parameter names of a node, appended to those above it. */
export function namesWith(names: readonly string[], node: SegmentNode): readonly string[] {
  return node.param === undefined ? names : [...names, node.param]
}
