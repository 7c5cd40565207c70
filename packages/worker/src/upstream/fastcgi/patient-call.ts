import { asError } from '@svc/core'
import type { HeaderList, ResponseHead } from '@svc/http'
import type { BodyBlocks } from '../../body-blocks.ts'
import { SpoolFile } from '../../spool-file.ts'
import type { CallSettings } from '../http/call-settings.ts'
import { type AnswerReceiver, HttpCall } from '../http/http-call.ts'
import type { OriginHandle, OriginRequest } from '../origin.ts'

/** How much of one answer waits in a file at most; past that its application waits too. */
const MAX_WAITING_BYTES = 1024 * 1024 * 1024

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
    return this.#file !== undefined && (this.#file.bytes > 0 || this.#file.isReading)
  }

  #keep(bytes: Uint8Array): boolean {
    try {
      this.#file ??= SpoolFile.open(this.#place.dir)
      this.#file.append(bytes)
    } catch (error) {
      this.#call.abort()
      this.fail(asError(error))
      return true
    }
    this.#isPaused = this.#file.bytes >= MAX_WAITING_BYTES
    return !this.#isPaused
  }

  /** Hands on what waits, as far as the receiver takes it, and the end behind it. */
  #handOn(): void {
    if (this.#isOver) return
    const file = this.#file
    if (file !== undefined && this.#isAnythingWaiting) {
      if (!this.#isHeld && !file.isReading) this.#readFrom(file)
    } else if (this.#trailers !== undefined) {
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
        this.#letMoreCome(file)
        this.#handOn()
      } else {
        this.#call.abort()
        this.fail(outcome)
      }
    })
  }

  #letMoreCome(file: SpoolFile): void {
    if (!this.#isPaused || file.bytes > MAX_WAITING_BYTES / 2) return
    this.#isPaused = false
    this.#call.resume()
  }

  #finish(): void {
    this.#isOver = true
    this.#file?.close()
  }
}
