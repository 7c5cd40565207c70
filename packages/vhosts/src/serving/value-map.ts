import { HostMatcher } from '@svc/http'
import type { PatternSpec } from '../spec/spec.ts'
import { type CaptureSink, Pattern } from './pattern.ts'

/** A `map` with values of any kind. */
interface ValueMapSource<Value> {
  /** In lower case; with `areHostnames` also `*.suffix`, `.suffix` and `prefix.*`. */
  readonly texts: ReadonlyArray<{ readonly text: string; readonly value: Value }>
  readonly patterns: ReadonlyArray<{ readonly pattern: PatternSpec; readonly value: Value }>
  readonly fallback: Value
  readonly areHostnames: boolean
}

/** Finds the value for a text: texts first, without regard to case, then regular expressions in their order. */
export class ValueMap<Value> {
  readonly #texts = new Map<string, Value>()
  readonly #hostnames: HostMatcher<Value> | undefined
  readonly #patterns: ReadonlyArray<{ readonly pattern: Pattern; readonly value: Value }>
  readonly #fallback: Value
  readonly #areHostnames: boolean

  constructor(source: ValueMapSource<Value>) {
    for (const { text, value } of source.texts) if (!this.#texts.has(text)) this.#texts.set(text, value)
    this.#areHostnames = source.areHostnames
    if (source.areHostnames) {
      this.#hostnames = new HostMatcher(source.texts.map(({ text, value }) => ({ hostnames: [text], isDefault: false, value })))
    }
    this.#patterns = source.patterns.map(({ pattern, value }) => ({ pattern: new Pattern(pattern), value }))
    this.#fallback = source.fallback
  }

  find(key: string, sink: CaptureSink): Value {
    const text = this.#areHostnames && key.endsWith('.') ? key.slice(0, -1) : key
    const lower = text.toLowerCase()
    const known = this.#texts.get(lower)
    if (known !== undefined) return known
    const host = this.#hostnames?.match(lower)
    if (host !== undefined && host.kind !== 'default') return host.value
    return this.#patterns.find(({ pattern }) => pattern.test(text, sink))?.value ?? this.#fallback
  }
}
