import { AppError } from '@svc/core'

/** A regular expression cannot be used. Reported with the file and line, or the entry, that holds it. */
export class PatternSyntaxError extends AppError<'CONFIG_PATTERN'> {
  /** Offset in the pattern at which parsing stopped. */
  readonly offset: number
  readonly hint: string | undefined

  constructor(message: string, offset: number, hint?: string) {
    super('CONFIG_PATTERN', message, {})
    this.name = 'PatternSyntaxError'
    this.offset = offset
    this.hint = hint
  }
}

/** The text of a regular expression, and the place in it that parsing has reached. */
export class PatternText {
  at = 0
  readonly #text: string

  constructor(text: string) {
    this.#text = text
  }

  get isAtEnd(): boolean {
    return this.at >= this.#text.length
  }

  /** A character from the place on; undefined: the text has ended. */
  char(offset = 0): string | undefined {
    return this.#text[this.at + offset]
  }

  /** The next characters. */
  ahead(count: number = Number.POSITIVE_INFINITY): string {
    return this.#text.slice(this.at, this.at + count)
  }

  /** Passes a text. False: another one comes. */
  take(text: string): boolean {
    if (!this.#text.startsWith(text, this.at)) return false
    this.at += text.length
    return true
  }

  /** Passes the text before a mark, and the mark. Undefined: the mark does not come. */
  takeUntil(mark: string): string | undefined {
    const end = this.#text.indexOf(mark, this.at)
    if (end < 0) return undefined
    const passed = this.#text.slice(this.at, end)
    this.at = end + mark.length
    return passed
  }

  takeRest(): string {
    const rest = this.ahead()
    this.at = this.#text.length
    return rest
  }

  fail(message: string, hint?: string): never {
    throw new PatternSyntaxError(message, this.at, hint)
  }
}
