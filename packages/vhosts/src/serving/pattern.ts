import type { PatternSpec } from '../spec/spec.ts'

/** Result of a match: the whole text, and the captures from 1 on. */
export type Captures = readonly (string | undefined)[]

/** Takes the captures of a match: numbered captures replace those of the match before, named ones stay. */
export interface CaptureSink {
  captures: Captures
  setVariable(name: string, value: string): void
}

/** A compiled regular expression. */
export class Pattern {
  readonly #source: PatternSpec
  readonly #expression: RegExp

  /** @throws SyntaxError */
  constructor(source: PatternSpec) {
    this.#source = source
    this.#expression = new RegExp(source.source, source.flags)
  }

  /** Returns true if the text matches; then the captures are set. */
  test(text: string, sink: CaptureSink): boolean {
    const match = this.#expression.exec(text)
    if (match === null) return false
    sink.captures = match
    for (const name of this.#source.names) sink.setVariable(name, match.groups?.[name] ?? '')
    return true
  }
}
