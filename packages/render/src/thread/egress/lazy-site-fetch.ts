import type { SiteFetch, SiteFetchOptions } from './site-fetch.ts'

/** What a thread asks of the site's `fetch`. */
export type FetchClient = Pick<SiteFetch, 'run' | 'close'>

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

  async close(): Promise<void> {
    const client = await this.#loading
    await client?.close()
  }

  async #load(): Promise<SiteFetch> {
    const { SiteFetch, siteFetchLimits } = await import('./site-fetch.ts')
    return new SiteFetch({ ...this.#options, limits: siteFetchLimits })
  }
}
