import type { Place } from './config-problem.ts'

const LINE_FEED = 10
const CONTINUATION_MASK = 0xc0
const CONTINUATION = 0x80

/** Turns text of one character for each byte, as vhost files are read, into the characters that these bytes stand for. */
export function decodeBytes(bytes: string): string {
  // Most words are ASCII.
  if (!/[\x80-\xff]/.test(bytes)) return bytes
  return Buffer.from(bytes, 'latin1').toString('utf8')
}

/** The reverse of `decodeBytes`. */
export function encodeBytes(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1')
}

/** A vhost file: its name and its text, one character for each byte, as paths of requests are compared. */
export class SourceFile {
  /** Absolute. */
  readonly path: string
  readonly text: string
  #lineStarts: number[] | undefined
  /** The last lookup: lookups mostly go from left to right, and a line may be as long as a file. */
  #last = { offset: 0, column: 1 }

  constructor(path: string, text: string) {
    this.path = path
    this.text = text
  }

  /** Place of an offset. The column counts characters, not bytes. */
  placeAt(offset: number): Place {
    this.#lineStarts ??= this.#findLines()
    const starts = this.#lineStarts
    let low = 0
    let high = starts.length - 1
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if ((starts[middle] ?? 0) <= offset) low = middle
      else high = middle - 1
    }
    const start = starts[low] ?? 0
    const isBehind = start <= this.#last.offset && this.#last.offset <= offset
    let { column } = isBehind ? this.#last : { column: 1 }
    for (let at = isBehind ? this.#last.offset : start; at < offset; at++) {
      if ((this.text.charCodeAt(at) & CONTINUATION_MASK) !== CONTINUATION) column++
    }
    this.#last = { offset, column }
    return { file: this.path, line: low + 1, column }
  }

  #findLines(): number[] {
    const starts = [0]
    for (let at = 0; at < this.text.length; at++) {
      if (this.text.charCodeAt(at) === LINE_FEED) starts.push(at + 1)
    }
    return starts
  }
}

/** A word of a vhost file: without quotes, escapes resolved, one character for each byte. */
export interface Word {
  readonly text: string
  readonly offset: number
  /** Offset behind its last character. */
  readonly end: number
}

/** A directive as written: nothing about it has been checked. */
export interface Directive {
  readonly source: SourceFile
  readonly name: Word
  readonly args: readonly Word[]
  /** Directives between the braces; undefined when it ends with a semicolon. */
  readonly block: readonly Directive[] | undefined
}
