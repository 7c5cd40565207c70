import { EntryStore } from '@svc/cache'
import type { Config } from '@svc/config'
import type { DataStore } from './data-cache.ts'

/** The store as this host has it open. */
export type OpenStore = DataStore & {
  /** Resolves when all that was put so far is committed. */
  flushed(): Promise<void>
  close(): Promise<void>
}

/** Options of the shared store. */
export interface SharedStoreOptions {
  /** It cannot be opened: sites go on without a data cache. */
  readonly onFailed: (error: unknown) => void
  /** @default the store of the instance on disk */
  readonly open?: (cache: Config['cache']) => Promise<OpenStore>
}

/** The store of the instance in this process: opened with the first generation, and again when its settings change. */
export class SharedStore {
  readonly #options: SharedStoreOptions
  #settings = ''
  #current: OpenStore | undefined

  constructor(options: SharedStoreOptions) {
    this.#options = options
  }

  /** Undefined before it was opened, and when it cannot be. */
  get current(): OpenStore | undefined {
    return this.#current
  }

  /** Opens the store that a generation names, unless it is open. Never rejects. */
  async use(cache: Config['cache']): Promise<void> {
    const { max_entries, max_bytes } = cache.isr
    const settings = JSON.stringify([cache.dir, max_entries, max_bytes])
    if (settings === this.#settings) return
    this.#settings = settings
    const { open = openOnDisk, onFailed } = this.#options
    const old = this.#current
    try {
      this.#current = await open(cache)
      await old?.close()
    } catch (error) {
      onFailed(error)
    }
  }

  async close(): Promise<void> {
    const store = this.#current
    this.#current = undefined
    this.#settings = ''
    await store?.close()
  }
}

async function openOnDisk({ dir, isr }: Config['cache']): Promise<OpenStore> {
  const { max_entries: maxEntries, max_bytes: maxBytes, default_swr_ms: graceMs } = isr
  return await EntryStore.join({ cacheDir: dir, maxEntries, maxBytes, graceMs })
}
