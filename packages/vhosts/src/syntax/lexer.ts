import type { Word } from './source-file.ts'

/** A piece of a vhost file. `cut`: nothing behind it can be read. */
type Token =
  | { readonly kind: 'word'; readonly word: Word }
  | { readonly kind: ';' | '{' | '}' | 'end'; readonly offset: number }
  | { readonly kind: 'cut' }

/** Takes a mistake and its place. */
export type ReportAt = (offset: number, message: string, hint?: string) => void

/** nginx's: a longer word is almost always a missing closing quote. */
const MAX_WORD_BYTES = 4096
const SPACES = ' \t\r\n'
const ESCAPES: Readonly<Record<string, string>> = { '"': '"', "'": "'", '\\': '\\', t: '\t', r: '\r', n: '\n' }

function withoutEscapes(raw: string): string {
  return raw.includes('\\') ? raw.replace(/\\(["'\\trn])/g, (_, letter: string) => ESCAPES[letter] ?? letter) : raw
}

/** Splits a vhost file into words, braces and semicolons, as nginx does. Reports unreadable text and skips it. */
export class Lexer {
  readonly #text: string
  readonly #report: ReportAt
  #at: number

  constructor(text: string, report: ReportAt) {
    this.#text = text
    this.#report = report
    // The byte order mark of UTF-8.
    this.#at = text.startsWith('\xef\xbb\xbf') ? 3 : 0
  }

  next(): Token {
    this.#skipSpace()
    const offset = this.#at
    const first = this.#text[offset]
    if (first === undefined) return { kind: 'end', offset }
    if (first === ';' || first === '{' || first === '}') {
      this.#at++
      return { kind: first, offset }
    }
    const word = first === '"' || first === "'" ? this.#quoted(first) : this.#plain()
    if (word === undefined) return { kind: 'cut' }
    if (word.end - word.offset > MAX_WORD_BYTES) this.#report(offset, 'too long parameter', 'is a closing quote missing?')
    return { kind: 'word', word }
  }

  /** Skips a script up to the brace that closes its block. Braces in its strings and comments do not count. */
  skipCode(): void {
    const piece = /"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|--[^\n]*|[{}]/gs
    piece.lastIndex = this.#at
    let depth = 0
    for (let found = piece.exec(this.#text); found !== null; found = piece.exec(this.#text)) {
      if (found[0] === '{') depth++
      if (found[0] !== '}') continue
      if (depth === 0) {
        this.#at = found.index
        return
      }
      depth--
    }
    this.#at = this.#text.length
  }

  #skipSpace(): void {
    for (;;) {
      const char = this.#text[this.#at]
      if (char === undefined) return
      if (char === '#') {
        const lineEnd = this.#text.indexOf('\n', this.#at)
        this.#at = lineEnd < 0 ? this.#text.length : lineEnd
      } else if (SPACES.includes(char)) this.#at++
      else return
    }
  }

  #plain(): Word {
    const offset = this.#at
    // `${name}`: this brace opens no block.
    let isAfterDollar = false
    for (;;) {
      const char = this.#text[this.#at]
      if (char === undefined) break
      if (char === '{' && isAfterDollar) {
        isAfterDollar = false
        this.#at++
        continue
      }
      const repetition = char === '{' && this.#at > offset ? this.#repetition() : ''
      if (repetition !== '') {
        this.#report(this.#at, 'unexpected "{"', 'a pattern with braces has to be in quotes')
        this.#at += repetition.length
        continue
      }
      if (char === ';' || char === '{' || SPACES.includes(char)) break
      isAfterDollar = char === '$'
      this.#at += char === '\\' ? 2 : 1
    }
    this.#at = Math.min(this.#at, this.#text.length)
    return { text: withoutEscapes(this.#text.slice(offset, this.#at)), offset, end: this.#at }
  }

  /** Returns the part of a regular expression that begins here, as in "\\d{4}": the brace would open a block. "" for none. */
  #repetition(): string {
    const repetition = /\{\d+(?:,\d*)?\}/y
    repetition.lastIndex = this.#at
    return repetition.exec(this.#text)?.[0] ?? ''
  }

  /** Undefined: it was reported that its quote is not closed, or closed by one that opens something else. */
  #quoted(quote: string): Word | undefined {
    const offset = this.#at
    this.#at++
    for (;;) {
      const char = this.#text[this.#at]
      if (char === undefined) {
        this.#report(offset, `unexpected end of file, expecting ${quote}`, 'the quote that opens here is not closed')
        return undefined
      }
      if (char === quote) break
      this.#at += char === '\\' ? 2 : 1
    }
    const inner = this.#text.slice(offset + 1, this.#at)
    this.#at = Math.min(this.#at + 1, this.#text.length)
    const word = { text: withoutEscapes(inner), offset, end: this.#at }
    const after = this.#text[this.#at]
    // nginx takes what follows from `)` on for the next word: `if ($a = "b")`.
    if (after === undefined || after === ';' || after === '{' || after === ')' || SPACES.includes(after)) return word
    if (inner.includes('\n')) {
      this.#report(offset, `unexpected "${after}" behind the next quote`, 'the quote that opens here is not closed in its line')
      return undefined
    }
    this.#report(this.#at, `unexpected "${after}"`, 'a space or ";" must follow a closing quote')
    return word
  }
}
