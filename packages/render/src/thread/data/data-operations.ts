import type { DataQuestion, FillOutcome } from '../../contract/data-methods.ts'
import type { DataClient } from './data-client.ts'
import { ttlOf } from './stored-response.ts'

/** A look-up as the guest asks for it. */
interface ReadFields {
  readonly requestNumber: number
  readonly mode: 'read' | 'refresh' | 'fallback'
  readonly parts: readonly string[]
  readonly tags: readonly string[]
  /** Seconds; false: for ever. */
  readonly revalidate: number | false
}

interface StoreFields {
  readonly fill: number
  readonly tags: readonly string[]
  readonly revalidate: number | false
}

/** The data cache as code in an isolate uses it: `unstable_cache`. Knows the fills that its requests have in flight. */
export class DataOperations {
  readonly #data: DataClient
  /** Fill -> number of the request that makes it. */
  readonly #fills = new Map<number, number>()

  constructor(data: DataClient) {
    this.#data = data
  }

  /** Returns the result as JSON, and the entry as bytes. */
  async read(
    json: string,
    requestOf: (requestNumber: number) => Pick<DataQuestion, 'place' | 'cameBack'>,
  ): Promise<{ readonly json: string; readonly body: Uint8Array | undefined }> {
    const { requestNumber, mode, parts, tags, revalidate } = JSON.parse(json) as ReadFields
    // Keys of fetches begin otherwise: no code can give one a response of its own making.
    const question = { mode, parts: ['function', ...parts.map(String)], tags: tags.map(String), ttlMs: ttlOf(revalidate) }
    const found = await this.#data.read({ ...question, ...requestOf(requestNumber) })
    if (found.kind === 'fill') this.#fills.set(found.fill, requestNumber)
    const { body, ...facts } = found.kind === 'hit' ? found : { ...found, body: undefined }
    return { json: JSON.stringify(facts), body }
  }

  /** Gives a fill back with its result. */
  async store(json: string, body: Uint8Array): Promise<string> {
    const { fill, tags, revalidate } = JSON.parse(json) as StoreFields
    this.#fills.delete(fill)
    const isStored = await this.#data.store(fill, { tags: tags.map(String), ttlMs: ttlOf(revalidate), body })
    return JSON.stringify({ isStored })
  }

  /** Gives a fill back without a result. */
  end(json: string): void {
    const { fill, outcome } = JSON.parse(json) as { readonly fill: number; readonly outcome: FillOutcome }
    this.#end(fill, outcome)
  }

  /** The fills of an aborted request are released, so that another request can make them. */
  abortOf(requestNumber: number): void {
    for (const [fill, owner] of this.#fills) if (owner === requestNumber) this.#end(fill, 'lost')
  }

  abortAll(): void {
    for (const fill of [...this.#fills.keys()]) this.#end(fill, 'lost')
  }

  #end(fill: number, outcome: FillOutcome): void {
    if (this.#fills.delete(fill)) this.#data.endFill(fill, outcome)
  }
}
