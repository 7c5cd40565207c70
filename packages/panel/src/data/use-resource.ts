import { useCallback, useState } from 'preact/hooks'
import { ApiError, type Query, urlOf } from './api.ts'
import { useServices } from './services.ts'
import { useRepeated } from './use-repeated.ts'

/** Something of the server that a component shows. */
export interface Resource<Data> {
  /** The last that came; undefined: none yet. */
  readonly data: Data | undefined
  /** Why the last request failed; undefined: it did not. */
  readonly error: ApiError | undefined
  /** Time of `data`, when a later request failed. */
  readonly staleSinceMs: number | undefined
  /** Asks again now. */
  readonly reload: () => void
}

/** How something is asked for. */
export interface ResourceOptions {
  readonly query?: Query
  /** Asks again after each such time while the page is visible. @default never */
  readonly everyMs?: number
  /** False: asks nothing. @default true */
  readonly isWanted?: boolean
}

interface Loaded<Data> {
  readonly url: string
  readonly data?: Data | undefined
  readonly error?: ApiError | undefined
  readonly atMs?: number | undefined
}

/** Gets something of the server, and again when its address changes, after each `everyMs`, and when the page comes into view. */
export function useResource<Data>(path: string, { query, everyMs, isWanted = true }: ResourceOptions = {}): Resource<Data> {
  const { api } = useServices()
  const url = urlOf(path, query)
  const [loaded, setLoaded] = useState<Loaded<Data>>({ url })
  const load = useCallback(
    async (signal: AbortSignal) => {
      try {
        const data = await api.get<Data>(url.slice('/__svc'.length), undefined, signal)
        setLoaded({ url, data, atMs: Date.now() })
      } catch (error) {
        if (signal.aborted) return
        if (!(error instanceof ApiError)) throw error
        setLoaded((known) => (known.url === url ? { ...known, error } : { url, error }))
      }
    },
    [api, url],
  )
  const reload = useRepeated(load, { everyMs, isWanted })
  const { data, error, atMs } = loaded.url === url ? loaded : {}
  return { data, error, staleSinceMs: error === undefined ? undefined : atMs, reload }
}
