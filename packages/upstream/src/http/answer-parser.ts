import type { HeaderList } from '@svc/http'
import { type AnswerHead, type Framing, parseAnswerHead } from './answer-head.ts'
import { ChunkedDecoder } from './chunked-decoder.ts'
import type { RepeatedHead } from './repeated-head.ts'

/** Longest head of a response. */
const MAX_HEAD_BYTES = 64 * 1024
/** Most interim answers to one request. */
export const MAX_INTERIM = 32
const HEAD_END = Buffer.from('\r\n\r\n')
const noTrailers: HeaderList = []
const LF = 0x0a
const CR = 0x0d
const nothing: Buffer = Buffer.alloc(0)

/** Told what a parser finds. Bytes are lent for the call. */
export interface AnswerEvents {
  /** 1xx other than 101. */
  interim(head: AnswerHead): void
  /**
   * `length` of the body, when it is known. `body`: all of it, when it came together with the head; `ended` follows at once.
   */
  head(head: AnswerHead, length: number | undefined, body: Uint8Array | undefined): void
  data(bytes: Uint8Array): void
  /** Error output of the application (FastCGI). */
  diagnostics(bytes: Uint8Array): void
  ended(trailers: HeaderList): void
}

/** State of a parser after the bytes so far. */
export type ParserState =
  /** No response is expected. */
  | 'idle'
  | 'reading'
  /** The response breaks the protocol, or bytes came that belong to none: the connection must go. */
  | 'bad'
  /** The server has refused the request. */
  | 'refused'

/** Takes the bytes of a connection apart into answers. Expects one after each `expect`. */
export interface AnswerReader {
  readonly state: ParserState
  /** The fault, once the state is `bad` or `refused`. */
  readonly problem: string
  /** A request has been sent. `isHead`: with HEAD, so that no body follows whatever the fields say. */
  expect(isHead: boolean): void
  /** Takes bytes that came, and may write into them. */
  push(bytes: Buffer): void
  /** The server has closed its side. Whether the response is complete by that. */
  close(): boolean
}

/**
 * Takes the bytes of a connection apart into answers (RFC 9112), strictly: what another parser could read differently ends the
 * connection. Expects one response after each `expect`.
 */
export class AnswerParser implements AnswerReader {
  readonly #events: AnswerEvents
  readonly #repeated: RepeatedHead
  /** The beginning of a head that has not come to its end. */
  #held: Buffer | undefined
  #isHead = false
  #state: 'idle' | 'head' | 'length' | 'chunked' | 'until-close' | 'bad' = 'idle'
  #remaining = 0
  #interims = 0
  #chunked: ChunkedDecoder | undefined
  problem = ''

  /** @param repeated of all connections to the server */
  constructor(events: AnswerEvents, repeated: RepeatedHead) {
    this.#events = events
    this.#repeated = repeated
  }

  get state(): ParserState {
    if (this.#state === 'idle' || this.#state === 'bad') return this.#state
    return 'reading'
  }

  expect(isHead: boolean): void {
    this.#state = 'head'
    this.#isHead = isHead
    this.#interims = 0
  }

  push(bytes: Buffer): void {
    let rest = bytes
    while (rest.byteLength > 0) {
      switch (this.#state) {
        case 'idle':
          this.#fail('bytes after the end of the response')
          return
        case 'bad':
          return
        case 'head':
          rest = this.#pushHead(rest)
          break
        case 'length':
          rest = this.#pushLength(rest)
          break
        case 'chunked':
          rest = this.#pushChunked(rest)
          break
        case 'until-close':
          this.#events.data(rest)
          return
      }
    }
  }

  close(): boolean {
    if (this.#state !== 'until-close') return false
    this.#end([])
    return true
  }

  #pushHead(bytes: Buffer): Buffer {
    const known = this.#held === undefined ? this.#repeated.find(bytes) : undefined
    if (known !== undefined) return this.#begin(known, this.#repeated.rest)
    const text = this.#held === undefined ? bytes : Buffer.concat([this.#held, bytes])
    const from = this.#held === undefined ? 0 : Math.max(0, this.#held.byteLength - 3)
    const end = text.indexOf(HEAD_END, from)
    if (end === -1) {
      this.#hold(text, from)
      return bytes.subarray(bytes.byteLength)
    }
    this.#held = undefined
    if (end > MAX_HEAD_BYTES) return this.#fail('a head that is too long')
    const head = this.#parse(text.toString('latin1', 0, end))
    const rest = text.subarray(end + HEAD_END.byteLength)
    if (head === undefined) return rest
    this.#repeated.remember(head, text.subarray(0, end + HEAD_END.byteLength))
    return this.#begin(head, rest)
  }

  /** @param from what is before it has been looked at */
  #hold(text: Buffer, from: number): void {
    if (text.byteLength > MAX_HEAD_BYTES) this.#fail('a head that is too long')
    else if (!couldBeHead(text, from)) this.#fail('no valid head')
    // The first bytes are lent.
    else this.#held = this.#held === undefined ? Buffer.from(text) : text
  }

  #parse(text: string): AnswerHead | undefined {
    const head = parseAnswerHead(text)
    if (!('problem' in head)) return head
    this.#fail(head.problem)
    return undefined
  }

  #begin(head: AnswerHead, rest: Buffer): Buffer {
    if (head.status < 200) return this.#interim(head, rest)
    const framing = this.#isBodiless(head.status) ? 0 : head.framing
    const length = typeof head.framing === 'number' ? head.framing : undefined
    if (typeof framing === 'number' && framing <= rest.byteLength) {
      this.#state = 'idle'
      this.#events.head(head, this.#isBodiless(head.status) ? length : framing, bodyOf(rest, framing))
      this.#end(noTrailers)
      return framing === rest.byteLength ? nothing : rest.subarray(framing)
    }
    this.#enter(framing)
    this.#events.head(head, length, undefined)
    return rest
  }

  #enter(framing: Framing): void {
    if (framing === 'chunked') {
      this.#chunked = new ChunkedDecoder()
      this.#state = 'chunked'
    } else if (framing === 'until-close') {
      this.#state = 'until-close'
    } else {
      this.#remaining = framing
      this.#state = 'length'
    }
  }

  /** A switch of protocols was not requested (RFC 9110 section 15.2.2). */
  #interim(head: AnswerHead, rest: Buffer): Buffer {
    if (head.status === 101) return this.#fail('status 101 without an upgrade request')
    if (++this.#interims > MAX_INTERIM) return this.#fail('too many interim responses')
    this.#events.interim(head)
    return rest
  }

  /** RFC 9112 section 6.3, rule 1. */
  #isBodiless(status: number): boolean {
    return this.#isHead || status === 204 || status === 304
  }

  #pushLength(bytes: Buffer): Buffer {
    const piece = bytes.byteLength > this.#remaining ? bytes.subarray(0, this.#remaining) : bytes
    this.#remaining -= piece.byteLength
    this.#events.data(piece)
    if (this.#remaining === 0 && this.#state === 'length') this.#end([])
    return bytes.subarray(piece.byteLength)
  }

  /** Joins the data of chunks, so that a body in small pieces costs no more work than another. */
  #pushChunked(bytes: Buffer): Buffer {
    const decoder = this.#chunked
    let start = 0
    let end = 0
    for (decoder?.rewind(); decoder !== undefined; ) {
      const step = decoder.next(bytes)
      if (step.kind === 'data') {
        if (end === 0) start = step.start
        else bytes.copyWithin(end, step.start, step.end)
        end = end === 0 ? step.end : end + step.end - step.start
        continue
      }
      if (end > 0) this.#events.data(bytes.subarray(start, end))
      if (step.kind === 'bad') return this.#fail(step.problem)
      if (step.kind === 'end') {
        this.#end(step.trailers)
        return bytes.subarray(step.end)
      }
      break
    }
    return bytes.subarray(bytes.byteLength)
  }

  #end(trailers: HeaderList): void {
    this.#state = 'idle'
    this.#chunked = undefined
    this.#events.ended(trailers)
  }

  #fail(problem: string): Buffer {
    this.#state = 'bad'
    this.problem = problem
    this.#held = undefined
    this.#chunked = undefined
    return Buffer.alloc(0)
  }
}

/** The first bytes; most of the time that is all of them. */
function bodyOf(bytes: Buffer, length: number): Buffer {
  if (length === 0) return nothing
  return length === bytes.byteLength ? bytes : bytes.subarray(0, length)
}

/** True if the bytes so far may become a head; otherwise there is no point in waiting for its end. */
function couldBeHead(text: Buffer, from: number): boolean {
  const start = text.toString('latin1', 0, Math.min(text.byteLength, 7))
  if (!'HTTP/1.'.startsWith(start)) return false
  for (let at = text.indexOf(LF, from); at !== -1; at = text.indexOf(LF, at + 1)) if (text[at - 1] !== CR) return false
  return true
}
