import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { type Query, urlOf } from './api.ts'
import { LiveStream, type StreamState } from './live-stream.ts'
import { RingBuffer } from './ring-buffer.ts'
import { useServices } from './services.ts'
import { useStore } from './store.ts'

/** Messages come up to a thousand a second; the page is drawn less often. */
const DRAW_EVERY_MS = 250

interface StreamOptions {
  readonly query?: Query
  /** Number of messages to keep. */
  readonly keep: number
  /** False: follows nothing, and keeps what there is. @default true */
  readonly isWanted?: boolean
}

/** A stream as a component shows it. */
interface Streamed<Message> {
  readonly state: StreamState
  /** Newest first. */
  readonly messages: readonly Message[]
  /** Messages that the server left out because the browser or the network was too slow. */
  readonly missed: number
}

/** Follows the events of an endpoint while the component is drawn. Another address opens another stream. */
export function useStream<Message>(path: string, { query, keep, isWanted = true }: StreamOptions): Streamed<Message> {
  const { api } = useServices()
  const url = urlOf(path, query)
  const stream = useMemo(() => new LiveStream<Message>(url, api), [url, api])
  const recent = useMemo(() => new RingBuffer<Message>(keep), [url, keep])
  const [shown, setShown] = useState<{ readonly url: string; readonly messages: readonly Message[] }>({ url, messages: [] })
  useEffect(() => {
    if (!isWanted) return
    let timer: ReturnType<typeof setTimeout> | undefined
    const draw = () => {
      timer = undefined
      setShown({ url, messages: recent.newestFirst() })
    }
    const end = stream.follow((message) => {
      recent.add(message)
      timer ??= setTimeout(draw, DRAW_EVERY_MS)
    })
    return () => {
      end()
      clearTimeout(timer)
    }
  }, [stream, recent, url, isWanted])
  return { state: useStore(stream.state), messages: shown.url === url ? shown.messages : [], missed: useStore(stream.missed) }
}

/** Loads a list again once its stream is back: the messages of the time without one are in the list alone. */
export function useReloadAfterGap({ kind }: StreamState, reload: () => void): void {
  const wasStale = useRef(false)
  useEffect(() => {
    if (kind === 'live' && wasStale.current) reload()
    wasStale.current = kind === 'stale'
  }, [kind, reload])
}
