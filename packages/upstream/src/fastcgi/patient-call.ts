import type { BodyBlocks, HeaderList, ResponseHead } from '@svc/http'
import { SpoolFile } from '@svc/http'
import type { CallSettings } from '../http/call-settings.ts'
import { type AnswerReceiver, HttpCall } from '../http/http-call.ts'
import type { OriginHandle, OriginRequest } from '../origin/origin.ts'

/** How much of one answer waits in a file at most; past that its application waits too. */
const MAX_WAITING_BYTES = 1024 * 1024 * 1024

const nothing = Buffer.alloc(0)

/** Where what is too much for memory waits. */
export interface WaitingPlace {
  /** Directory for files; made when it is needed. */
  readonly dir: string
  readonly blocks: BodyBlocks
}

/**
 * One request whose application does not wait for its client: what the receiver does not take yet goes to a file without a name.
 * A process that a slow client holds is one of few.
 */
export class PatientCall implements OriginHandle, AnswerReceiver {
  readonly #call: HttpCall
  readonly #receiver: AnswerReceiver
  readonly #place: WaitingPlace
  #file: SpoolFile | undefined
  /** Behind what is in the file: what could not be written, and what came with it. */
  #unwritten: Buffer[] = []
  /** The receiver takes no more until `resume`. */
  #isHeld = false
  /** The application is told to wait. */
  #isPaused = false
  /** The application has said everything. */
  #trailers: HeaderList | undefined
  #isOver = false

  constructor(settings: CallSettings, request: OriginRequest, receiver: AnswerReceiver, place: WaitingPlace) {
    this.#call = new HttpCall(settings, request, this)
    this.#receiver = receiver
    this.#place = place
  }

  /** Sends the request. To be called once. */
  start(): void {
    this.#call.start()
  }

  abort(): void {
    this.#finish()
    this.#call.abort()
  }

  /** The receiver takes more again. */
  resume(): void {
    this.#isHeld = false
    this.#handOn()
  }

  informational(head: ResponseHead): void {
    this.#receiver.informational(head)
  }

  head(head: ResponseHead, length: number | undefined, body: Uint8Array | undefined): void {
    this.#receiver.head(head, length, body)
  }

  data(bytes: Uint8Array): boolean {
    if (this.#isOver) return true
    if (this.#isHeld || this.#isAnythingWaiting) return this.#keep(bytes)
    this.#isHeld = !this.#receiver.data(bytes)
    return true
  }

  end(trailers: HeaderList): void {
    this.#trailers = trailers
    this.#handOn()
  }

  fail(error: Error): void {
    this.#finish()
    this.#receiver.fail(error)
  }

  get #isAnythingWaiting(): boolean {
    return this.#hasFileBytes || this.#unwritten.length > 0
  }

  get #hasFileBytes(): boolean {
    return this.#file !== undefined && (this.#file.bytes > 0 || this.#file.isReading)
  }

  #keep(bytes: Uint8Array): boolean {
    const written = this.#unwritten.length === 0 ? this.#write(bytes) : 0
    if (written < bytes.byteLength) this.#unwritten.push(Buffer.from(bytes.subarray(written)))
    this.#isPaused = this.#unwritten.length > 0 || (this.#file?.bytes ?? 0) >= MAX_WAITING_BYTES
    return !this.#isPaused
  }

  /** How many bytes are in the file now. On a full disk, or where no file can be made, the application has to wait. */
  #write(bytes: Uint8Array): number {
    const before = this.#file?.bytes ?? 0
    try {
      this.#file ??= SpoolFile.open(this.#place.dir)
      this.#file.append(bytes)
    } catch {
      return (this.#file?.bytes ?? 0) - before
    }
    return bytes.byteLength
  }

  /** Hands on what waits, as far as the receiver takes it, and the end behind it. */
  #handOn(): void {
    if (this.#isOver) return
    if (this.#file !== undefined && this.#hasFileBytes) {
      if (!this.#isHeld && !this.#file.isReading) this.#readFrom(this.#file)
      return
    }
    while (!this.#isHeld && this.#unwritten.length > 0) this.#isHeld = !this.#receiver.data(this.#unwritten.shift() ?? nothing)
    if (this.#unwritten.length > 0) return
    if (this.#trailers === undefined) {
      this.#letMoreCome()
    } else {
      this.#finish()
      this.#receiver.end(this.#trailers)
    }
  }

  #readFrom(file: SpoolFile): void {
    const block = this.#place.blocks.take()
    file.read(block, (outcome) => {
      if (typeof outcome === 'number') {
        this.#isHeld = !this.#receiver.data(block.subarray(0, outcome))
        this.#place.blocks.give(block)
        this.#letMoreCome()
        this.#handOn()
      } else {
        this.#call.abort()
        this.fail(outcome)
      }
    })
  }

  #letMoreCome(): void {
    const isFull = this.#unwritten.length > 0 || (this.#file?.bytes ?? 0) > MAX_WAITING_BYTES / 2
    if (!this.#isPaused || isFull) return
    this.#isPaused = false
    this.#call.resume()
  }

  #finish(): void {
    this.#isOver = true
    this.#file?.close()
  }
}
