import { useCallback, useMemo, useRef } from 'preact/hooks'
import { urlOf } from './api.ts'
import { type ListPage, PageLoader } from './page-loader.ts'
import { useServices } from './services.ts'
import { useStore } from './store.ts'
import { useRepeated } from './use-repeated.ts'
import type { Resource, ResourceOptions } from './use-resource.ts'

/** The rows of a list that are not loaded yet. */
export interface More {
  readonly isLoading: boolean
  /** Gets some of them. */
  readonly load: () => void
}

interface PagesOptions extends ResourceOptions {
  /** True: shows the rows of the query before until those of another one come. @default false */
  readonly keepsRows?: boolean
}

/** A list that the server answers by pages. */
interface PagedResource<Page, Row> extends Resource<{ readonly first: Page; readonly rows: readonly Row[] }> {
  /** Undefined: all rows are loaded, or the server refuses more for now. */
  readonly more: More | undefined
}

/**
 * Gets a list page by page, as far as `more` is called for; and all pages again after each `everyMs` for each of them.
 * @param rowsOf a pure function
 */
export function usePages<Page extends ListPage, Row>(
  path: string,
  rowsOf: (page: Page) => readonly Row[],
  { query, everyMs, isWanted = true, keepsRows = false }: PagesOptions = {},
): PagedResource<Page, Row> {
  const { api } = useServices()
  const url = urlOf(path, query)
  const signal = useRef<AbortSignal | undefined>(undefined)
  const loader = useMemo(() => {
    const ask = (cursor: ListPage['cursor']) => {
      const joined = cursor === null ? url : `${url}${url.includes('?') ? '&' : '?'}cursor=${encodeURIComponent(cursor)}`
      return api.get<Page>(joined.slice('/__svc'.length), undefined, signal.current)
    }
    return new PageLoader<Page, Row>(ask, rowsOf)
  }, [api, url])
  const load = useCallback(
    async (of: AbortSignal) => {
      signal.current = of
      await loader.refresh()
    },
    [loader],
  )
  const reload = useRepeated(load, { everyMs, isWanted, factor: () => loader.state.value.pages })
  const more = useCallback(() => loader.more(), [loader])
  const { first, rows, cursor, isLoading, error, atMs } = useStore(loader.state)
  const data = useMemo(() => first && { first, rows }, [first, rows])
  const before = useRef<typeof data>(undefined)
  if (data !== undefined) before.current = data
  return {
    data: keepsRows && error === undefined ? before.current : data,
    error,
    staleSinceMs: error === undefined || first === undefined ? undefined : atMs,
    reload,
    more: cursor === null || error !== undefined ? undefined : { isLoading, load: more },
  }
}
