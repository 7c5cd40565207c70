import { useLayoutEffect } from 'preact/hooks'
import { type Api, ApiError } from './api.ts'
import { Store, useStore } from './store.ts'

/** State of a stream. `sinceMs`: the time of its last sign of life. `why`: the server's reason for a refusal. */
export type StreamState =
  | { readonly kind: 'connecting' | 'live' }
  | { readonly kind: 'stale'; readonly sinceMs: number; readonly why?: string }

const FIRST_WAIT_MS = 1000
const MAX_WAIT_MS = 30_000
/** A page that is hidden for longer gives its connection back: over HTTP/1.1 a browser has six for all tabs of a server. */
const HIDDEN_MS = 3_000

/** Time to wait before try n, counted from 0: it doubles, and is spread so that not all pages come back at once. */
export function waitBeforeTry(tries: number, random = Math.random()): number {
  return Math.min(FIRST_WAIT_MS * 2 ** tries, MAX_WAIT_MS) * (0.5 + random / 2)
}

/**
 * Events of an endpoint. Connects while someone follows it and the page is visible, and connects again by itself; it is stale while the
 * page is hidden. The server ends a stream at each reload and when the session ends, which is no failure.
 */
export class LiveStream<Message> {
  readonly state = new Store<StreamState>({ kind: 'connecting' })
  readonly last = new Store<Message | undefined>(undefined)
  /** Messages that the server left out. */
  readonly missed = new Store(0)
  readonly #url: string
  readonly #api: Api
  readonly #receivers = new Set<(message: Message) => void>()
  #source: EventSource | undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  #hidden: ReturnType<typeof setTimeout> | undefined
  #tries = 0
  #heardAtMs = Date.now()

  constructor(url: string, api: Api) {
    this.#url = url
    this.#api = api
  }

  /** Returns a function that ends it. */
  follow(receive: (message: Message) => void): () => void {
    this.#receivers.add(receive)
    if (this.#receivers.size === 1) {
      document.addEventListener('visibilitychange', this.#onVisibility)
      this.#onVisibility()
    }
    return () => {
      this.#receivers.delete(receive)
      if (this.#receivers.size > 0) return
      document.removeEventListener('visibilitychange', this.#onVisibility)
      clearTimeout(this.#hidden)
      this.#stop()
    }
  }

  readonly #onVisibility = (): void => {
    clearTimeout(this.#hidden)
    if (document.visibilityState === 'hidden') this.#hidden = setTimeout(() => this.#rest(), HIDDEN_MS)
    else if (this.#source === undefined) this.#connect()
  }

  #rest(): void {
    this.#stop()
    this.#becomeStale()
  }

  #becomeStale(): void {
    if (this.state.value.kind === 'live' && this.#tries === 0) this.#heardAtMs = Date.now()
    this.state.set({ kind: 'stale', sinceMs: this.#heardAtMs })
  }

  #stop(): void {
    clearTimeout(this.#timer)
    this.#source?.close()
    this.#source = undefined
  }

  #connect(): void {
    this.#stop()
    const source = new EventSource(this.#url)
    this.#source = source
    source.onopen = () => {
      this.#tries = 0
      this.#heard()
    }
    source.onmessage = ({ data }) => {
      const message = JSON.parse(data) as Message
      this.#heard()
      this.last.set(message)
      for (const receive of this.#receivers) receive(message)
    }
    source.addEventListener('dropped', ({ data }) => {
      const { count } = JSON.parse(data) as { readonly count: number }
      this.missed.set(this.missed.value + count)
    })
    source.onerror = () => this.#failed(source)
  }

  #heard(): void {
    this.#heardAtMs = Date.now()
    this.state.set({ kind: 'live' })
  }

  #failed(source: EventSource): void {
    if (source !== this.#source) return
    this.#stop()
    this.#becomeStale()
    this.#timer = setTimeout(() => void this.#tryAgain(), waitBeforeTry(this.#tries++))
  }

  /** A stream does not say why it was refused; a request does, and one without a session asks for a login. */
  async #tryAgain(): Promise<void> {
    try {
      await this.#api.probe(this.#url)
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      if (error.status > 0) this.state.set({ kind: 'stale', sinceMs: this.#heardAtMs, why: error.message })
      if (this.#isWanted()) this.#timer = setTimeout(() => void this.#tryAgain(), waitBeforeTry(this.#tries++))
      return
    }
    if (this.#isWanted()) this.#connect()
  }

  #isWanted(): boolean {
    return this.#receivers.size > 0 && document.visibilityState !== 'hidden' && this.#source === undefined
  }
}

/** Follows a stream while the component is drawn. @returns its last message */
export function useLast<Message>(stream: LiveStream<Message>): Message | undefined {
  useLayoutEffect(() => stream.follow(() => undefined), [stream])
  return useStore(stream.last)
}
