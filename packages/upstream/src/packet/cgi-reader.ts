import type { HeaderList } from '@svc/http'
import { findHeadEnd, parseCgiHead } from '../cgi/cgi-head.ts'
import type { AnswerHead } from '../http/answer-head.ts'
import type { AnswerEvents, AnswerReader, ParserState } from '../http/answer-parser.ts'

/** Longest head of a response. */
const MAX_HEAD_BYTES = 64 * 1024
const nothing = Buffer.alloc(0)
const noTrailers: HeaderList = []

/**
 * Parses the bytes of a connection into the response of a CGI application that writes it as it is: a head, perhaps with a status
 * line of HTTP, and a body up to its declared length, or up to the end of the connection. A connection has one response.
 */
export class CgiReader implements AnswerReader {
  readonly #events: AnswerEvents
  state: ParserState = 'idle'
  problem = ''
  #isHead = false
  #held: Buffer = nothing
  /** Offset of the last line of what is held. */
  #heldLine = 0
  #head: AnswerHead | undefined
  /** Of the body; undefined: it goes on to the end of the connection. */
  #left: number | undefined

  constructor(events: AnswerEvents) {
    this.#events = events
  }

  expect(isHead: boolean): void {
    this.state = 'reading'
    this.#isHead = isHead
    this.#held = nothing
    this.#heldLine = 0
    this.#head = undefined
    this.#left = undefined
  }

  push(bytes: Buffer): void {
    // Bytes beyond the declared length are dropped, as with nginx.
    if (this.state !== 'reading') return
    if (this.#head === undefined) this.#takeHead(bytes)
    else this.#takeBody(bytes)
  }

  close(): boolean {
    if (this.state !== 'reading' || this.#head === undefined || this.#left !== undefined) return false
    this.#end()
    return true
  }

  #takeHead(bytes: Buffer): void {
    const text = this.#held.byteLength === 0 ? bytes : Buffer.concat([this.#held, bytes])
    const found = findHeadEnd(text, this.#heldLine)
    if ('line' in found) {
      this.#heldLine = found.line
      // The bytes are lent.
      this.#held = text === bytes ? Buffer.from(bytes) : text
      if (text.byteLength > MAX_HEAD_BYTES) this.#fail('a head that is too long')
      return
    }
    const head = parseCgiHead(text.toString('latin1', 0, found.end), { mayHaveStatusLine: true })
    if ('problem' in head || found.end > MAX_HEAD_BYTES) {
      this.#fail('problem' in head ? head.problem : 'a head that is too long')
      return
    }
    this.#held = nothing
    this.#begin(head, text.subarray(found.next))
  }

  #begin(said: AnswerHead, rest: Buffer): void {
    const length = typeof said.framing === 'number' ? said.framing : undefined
    const head: AnswerHead = { ...said, framing: length ?? 'until-close', keepsAlive: false }
    const isBodiless = this.#isHead || head.status === 204 || head.status === 304
    this.#head = head
    this.#left = isBodiless ? 0 : length
    if (isBodiless || (length !== undefined && rest.byteLength >= length)) {
      this.state = 'idle'
      this.#events.head(head, isBodiless && !this.#isHead ? 0 : length, isBodiless ? nothing : rest.subarray(0, length))
      this.#events.ended(noTrailers)
      return
    }
    this.#events.head(head, length, undefined)
    if (rest.byteLength > 0) this.#takeBody(rest)
  }

  #takeBody(bytes: Buffer): void {
    const piece = this.#left === undefined ? bytes : bytes.subarray(0, this.#left)
    this.#events.data(piece)
    if (this.#left === undefined) return
    this.#left -= piece.byteLength
    if (this.#left === 0) this.#end()
  }

  #end(): void {
    this.state = 'idle'
    this.#events.ended(noTrailers)
  }

  #fail(problem: string): void {
    this.state = 'bad'
    this.problem = problem
  }
}
