/** A regular expression as configuration gives it, in JavaScript's grammar. */
export interface PatternSource {
  readonly source: string
  readonly flags: string
  /** Named captures. */
  readonly names: readonly string[]
}

/** What a match found: the whole text, and the captures from 1 on. */
export type Captures = readonly (string | undefined)[]

/** Takes what a match found: numbered captures replace those of the match before, named ones stay. */
export interface CaptureSink {
  captures: Captures
  setVariable(name: string, value: string): void
}

/** A regular expression, compiled when it is first tried. */
export class Pattern {
  readonly #source: PatternSource
  #expression: RegExp | undefined

  constructor(source: PatternSource) {
    this.#source = source
  }

  /** Whether the text matches; then the captures are set. */
  test(text: string, sink: CaptureSink): boolean {
    this.#expression ??= new RegExp(this.#source.source, this.#source.flags)
    const match = this.#expression.exec(text)
    if (match === null) return false
    sink.captures = match
    for (const name of this.#source.names) sink.setVariable(name, match.groups?.[name] ?? '')
    return true
  }
}
