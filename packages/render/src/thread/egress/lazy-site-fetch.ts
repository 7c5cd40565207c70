import { wasSentBy } from '@svc/protocol'
import type { SiteFetch, SiteFetchOptions } from './site-fetch.ts'

/** The `fetch` of a site as its thread uses it. */
export interface FetchClient extends Pick<SiteFetch, 'run' | 'close'> {
  /** True if a request that has this CDN-Loop field was sent by this instance, maybe by way of others. */
  hasSent(cdnLoop: string): boolean
}

/**
 * The site's `fetch`, loaded at its first use: the HTTP client behind it is most of what a thread would read at its start,
 * and most sites never fetch before their first page is out.
 */
export class LazySiteFetch implements FetchClient {
  readonly #options: Omit<SiteFetchOptions, 'limits'>
  #loading: Promise<SiteFetch> | undefined

  constructor(options: Omit<SiteFetchOptions, 'limits'>) {
    this.#options = options
  }

  async run(...args: Parameters<SiteFetch['run']>): Promise<void> {
    this.#loading ??= this.#load()
    const client = await this.#loading
    await client.run(...args)
  }

  hasSent(cdnLoop: string): boolean {
    return cdnLoop !== '' && wasSentBy(cdnLoop, this.#options.loopMark)
  }

  async close(): Promise<void> {
    const client = await this.#loading
    await client?.close()
  }

  async #load(): Promise<SiteFetch> {
    const { SiteFetch, siteFetchLimits } = await import('./site-fetch.ts')
    return new SiteFetch({ ...this.#options, limits: siteFetchLimits })
  }
}
