import { type EmittedFacts, MAX_EMITTED_TAGS } from '../contract/isolate.ts'
import type { FactsCollector, RequestRead } from './guest-request.ts'

/** Collects facts of one request. */
export class Facts implements FactsCollector {
  readonly reads = new Set<RequestRead>()
  readonly #tags = new Set<string>()
  #revalidate: number | false | undefined

  get tags(): ReadonlySet<string> {
    return this.#tags
  }

  addTags(tags: Iterable<string>): void {
    for (const tag of tags) {
      if (this.#tags.size === MAX_EMITTED_TAGS) return
      this.#tags.add(tag)
    }
  }

  get revalidate(): number | false | undefined {
    return this.#revalidate
  }

  limitRevalidate(value: number | false): void {
    const known = this.#revalidate
    if (known === undefined || known === false) this.#revalidate = known === false && value === false ? false : value
    else if (value !== false) this.#revalidate = Math.min(known, value)
  }

  toJSON(): EmittedFacts {
    const base = { reads: [...this.reads], tags: [...this.#tags] }
    return this.#revalidate === undefined ? base : { ...base, revalidate: this.#revalidate }
  }
}
