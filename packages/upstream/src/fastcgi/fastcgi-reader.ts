import type { HeaderList } from '@svc/http'
import { findHeadEnd, parseCgiHead } from '../cgi/cgi-head.ts'
import type { AnswerHead } from '../http/answer-head.ts'
import type { AnswerEvents, AnswerReader, ParserState } from '../http/answer-parser.ts'
import type { RepeatedHead } from '../http/repeated-head.ts'
import { RECORD, REQUEST_ID } from './record.ts'
import { type RecordEvents, RecordSplitter } from './record-splitter.ts'

/** Longest head of a response. */
const MAX_HEAD_BYTES = 64 * 1024
/** Offset of the protocol status in the content of END_REQUEST: after that of the program. */
const PROTOCOL_STATUS_AT = 4
/** Protocol status: the request is done. */
const COMPLETE = 0
const problems: Readonly<Record<number, string>> = {
  1: 'the application takes one request at a time',
  2: 'the application is overloaded',
  3: 'the application does not support the responder role',
}
const nothing = Buffer.alloc(0)
const noTrailers: HeaderList = []

/**
 * Parses the records of a connection into responses of CGI applications. Bytes that come in one piece are handed on in one piece: a whole
 * answer, with the length that it turned out to have.
 */
export class FastcgiReader implements AnswerReader, RecordEvents {
  readonly #events: AnswerEvents
  readonly #repeated: RepeatedHead
  readonly #records = new RecordSplitter(this)
  state: ParserState = 'idle'
  #isHead = false
  /** The head, as far as it has come. */
  #held: Buffer = nothing
  /** Offset of its last line. */
  #heldLine = 0
  #head: AnswerHead | undefined
  /** Of the body, as its head declares it. */
  #length: number | undefined
  #isHeadTold = false
  /** Body that has come in this call. */
  #pieces: Buffer[] = []
  #bodyBytes = 0
  #hasStdoutEnded = false
  /** Content of END_REQUEST that has come. */
  #endBytes = 0
  #protocolStatus: number | undefined
  problem = ''

  /** @param repeated of all connections to the application */
  constructor(events: AnswerEvents, repeated: RepeatedHead) {
    this.#events = events
    this.#repeated = repeated
  }

  get takesMore(): boolean {
    return this.state === 'reading'
  }

  expect(isHead: boolean): void {
    this.state = 'reading'
    this.#isHead = isHead
    this.#held = nothing
    this.#heldLine = 0
    this.#head = undefined
    this.#length = undefined
    this.#isHeadTold = false
    this.#pieces = []
    this.#bodyBytes = 0
    this.#hasStdoutEnded = false
    this.#endBytes = 0
    this.#protocolStatus = undefined
  }

  push(bytes: Buffer): void {
    if (this.state === 'idle') this.#fail('bytes after the end of the response')
    const left = this.#records.push(bytes)
    if (left === undefined) this.#fail('bytes that are not FastCGI records')
    else if (this.state === 'idle' && left > 0) this.#fail('bytes after the end of the response')
    if (this.state === 'reading') this.#tellPieces()
  }

  /** A response ends with END_REQUEST; where that is missing, the end of the output will do, as with nginx. */
  close(): boolean {
    if (!this.takesMore || !this.#hasStdoutEnded) return false
    this.#protocolStatus = COMPLETE
    this.#end()
    return this.state === 'idle'
  }

  content(type: number, requestId: number, bytes: Buffer): void {
    // Management records answer requests that were never sent.
    if (requestId === 0 || this.state !== 'reading') return
    if (requestId !== REQUEST_ID) this.#fail('a record of another request')
    else if (type === RECORD.stdout) this.#takeOutput(bytes)
    else if (type === RECORD.stderr) this.#events.diagnostics(bytes)
    else if (type !== RECORD.endRequest) this.#fail(`a record of type ${type}`)
    else {
      this.#protocolStatus ??= bytes[PROTOCOL_STATUS_AT - this.#endBytes]
      this.#endBytes += bytes.byteLength
    }
  }

  recordEnded(type: number, requestId: number, length: number): void {
    if (requestId !== REQUEST_ID || this.state !== 'reading') return
    if (type === RECORD.stdout && length === 0) this.#hasStdoutEnded = true
    else if (type === RECORD.endRequest) this.#end()
  }

  #takeOutput(bytes: Buffer): void {
    if (this.#hasStdoutEnded) this.#fail('output after the end of the stream')
    else if (this.#head === undefined) this.#takeHead(bytes)
    else this.#takeBody(bytes)
  }

  #takeHead(bytes: Buffer): void {
    const known = this.#held.byteLength === 0 ? this.#repeated.find(bytes) : undefined
    if (known !== undefined) {
      this.#begin(known, this.#repeated.rest)
      return
    }
    const text = this.#held.byteLength === 0 ? bytes : Buffer.concat([this.#held, bytes])
    const found = findHeadEnd(text, this.#heldLine)
    if ('line' in found) {
      this.#heldLine = found.line
      // The bytes are lent.
      this.#held = text === bytes ? Buffer.from(bytes) : text
      if (text.byteLength > MAX_HEAD_BYTES) this.#fail('a head that is too long')
      return
    }
    const head = parseCgiHead(text.toString('latin1', 0, found.end))
    if ('problem' in head || found.end > MAX_HEAD_BYTES) {
      this.#fail('problem' in head ? head.problem : 'a head that is too long')
      return
    }
    this.#repeated.remember(head, text.subarray(0, found.next))
    this.#begin(head, text.subarray(found.next))
  }

  #begin(head: AnswerHead, rest: Buffer): void {
    this.#held = nothing
    this.#head = head
    this.#length = typeof head.framing === 'number' ? head.framing : undefined
    if (rest.byteLength > 0) this.#takeBody(rest)
  }

  /** Drops bytes beyond the declared length, as nginx does. */
  #takeBody(bytes: Buffer): void {
    if (this.#isBodiless()) return
    const left = (this.#length ?? Number.POSITIVE_INFINITY) - this.#bodyBytes
    const piece = bytes.byteLength > left ? bytes.subarray(0, left) : bytes
    if (piece.byteLength === 0) return
    this.#bodyBytes += piece.byteLength
    this.#pieces.push(piece)
  }

  #isBodiless(): boolean {
    const status = this.#head?.status
    return this.#isHead || status === 204 || status === 304
  }

  #tellPieces(): void {
    if (this.#head === undefined) return
    if (!this.#isHeadTold) {
      this.#isHeadTold = true
      this.#events.head(this.#head, this.#length, undefined)
    }
    for (const piece of this.#pieces) this.#events.data(piece)
    this.#pieces = []
  }

  #end(): void {
    const protocolStatus = this.#protocolStatus
    if (protocolStatus === undefined) this.#fail('a truncated end-of-request record')
    else if (protocolStatus !== COMPLETE) this.#refuse(problems[protocolStatus] ?? `protocol status ${protocolStatus}`)
    else if (this.#head === undefined) this.#fail('a response without a complete head')
    else if (!this.#isBodiless() && this.#bodyBytes < (this.#length ?? 0)) this.#fail('a body that is shorter than declared')
    else this.#tellEnd(this.#head)
  }

  #tellEnd(head: AnswerHead): void {
    if (this.#isHeadTold) {
      this.#tellPieces()
      this.state = 'idle'
    } else {
      this.state = 'idle'
      const [first = nothing] = this.#pieces
      const body = this.#pieces.length > 1 ? Buffer.concat(this.#pieces) : first
      this.#pieces = []
      this.#events.head(head, this.#isBodiless() ? this.#length : body.byteLength, body)
    }
    this.#events.ended(noTrailers)
  }

  #refuse(problem: string): void {
    this.state = 'refused'
    this.problem = problem
  }

  #fail(problem: string): void {
    this.state = 'bad'
    this.problem = problem
  }
}
