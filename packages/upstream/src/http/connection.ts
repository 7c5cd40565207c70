import type { Socket } from 'node:net'
import type { HeaderList } from '@svc/http'
import { UpstreamError } from '../errors/errors.ts'
import type { AnswerHead } from './answer-head.ts'
import type { AnswerEvents, AnswerReader } from './answer-parser.ts'
import { LazyTimer } from './lazy-timer.ts'

/** The owner of the request on a connection. Bytes are lent for the call. */
export interface ConnectionUser {
  interim(head: AnswerHead): void
  /** `body`: all of it, when it came with the head. */
  head(head: AnswerHead, length: number | undefined, body: Uint8Array | undefined): void
  /** False: nothing more until `resume`. */
  data(bytes: Uint8Array): boolean
  /** Error output of the application. */
  diagnostics(bytes: Uint8Array): void
  /** The response is complete, and this user no longer owns the connection. */
  ended(trailers: HeaderList): void
  /** The connection is lost before the response was complete. The last call. */
  broken(error: UpstreamError): void
  /** The socket takes more of the request. */
  drained(): void
}

/** The keeper of connections. */
export interface ConnectionOwner {
  /** Free for the next request. `idleMs`: how long the server keeps it. */
  idle(connection: UpstreamConnection, idleMs: number | undefined): void
  /** Gone; never free again. */
  gone(connection: UpstreamConnection): void
}

/** Makes the reader of a connection's answers. */
export type MakeReader = (events: AnswerEvents) => AnswerReader

/** One buffer that all connections are read into: the bytes are handled before the next read. */
class ReadBuffer {
  readonly whole: Buffer = Buffer.allocUnsafeSlow(64 * 1024)
  #last = this.whole

  /** The first bytes. The next read is often as long, and gets the same object. */
  first(length: number): Buffer {
    if (this.#last.byteLength !== length) this.#last = this.whole.subarray(0, length)
    return this.#last
  }
}

const readBuffer = new ReadBuffer()

/** One connection to a server, for one request after another. */
export class UpstreamConnection implements AnswerEvents {
  readonly #owner: ConnectionOwner
  readonly #name: string
  readonly #parser: AnswerReader
  readonly #timer: LazyTimer
  #socket: Socket | undefined
  #user: ConnectionUser | undefined
  #allowedMs = 0
  #awaited = ''
  #keepsAlive = true
  #keepAliveMs: number | undefined
  #isComplete = false
  #isPaused = false
  #isGone = false
  #lastError: Error | undefined
  /** When its owner got it back last, in ms of the monotonic clock. */
  idleSince = 0
  /** When it was made. */
  openedAt = 0
  /** Requests that it was used for. */
  served = 0

  /**
   * @param name of the server, for messages
   * @param makeReader makes what takes the answers apart
   */
  constructor(owner: ConnectionOwner, name: string, makeReader: MakeReader) {
    this.#owner = owner
    this.#name = name
    this.#parser = makeReader(this)
    this.#timer = new LazyTimer(() => this.#expired())
  }

  /** Reads into memory that all connections share. */
  readonly onread = {
    buffer: readBuffer.whole,
    callback: (length: number, bytes: Uint8Array): boolean => {
      this.#received(bytes === readBuffer.whole ? readBuffer.first(length) : Buffer.from(bytes.buffer, bytes.byteOffset, length))
      return !this.#isPaused
    },
  }

  /** Takes over a connected socket. `readsItself`: its bytes come by `onread`. */
  open(socket: Socket, readsItself: boolean): void {
    this.#socket = socket
    socket.on('error', (error) => {
      this.#lastError = error
    })
    socket.on('close', () => this.#closed())
    socket.on('end', () => this.#ended())
    socket.on('drain', () => this.#user?.drained())
    if (!readsItself) {
      socket.on('data', (bytes: Buffer) => {
        this.#received(bytes)
        if (this.#isPaused) socket.pause()
      })
    }
  }

  get isGone(): boolean {
    return this.#isGone
  }

  /** Begins a request. */
  use(user: ConnectionUser, isHead: boolean): void {
    this.#user = user
    this.served++
    this.#isComplete = false
    this.#keepsAlive = true
    this.#keepAliveMs = undefined
    this.#parser.expect(isHead)
  }

  /** Sends text, one byte for each character. False: wait for `drained`. */
  writeText(text: string): boolean {
    return this.#socket?.write(text, 'latin1') ?? true
  }

  /** Sends bytes, which may not change any more. False: wait for `drained`. */
  write(bytes: Uint8Array): boolean {
    return this.#socket?.write(bytes) ?? true
  }

  /** Holds back what is written in this turn, so that it leaves together. */
  cork(): void {
    this.#socket?.cork()
  }

  uncork(): void {
    this.#socket?.uncork()
  }

  /**
   * Cuts the connection after so long without activity; time without a reader does not count. `what` names the failure for the
   * message.
   */
  allow(delayMs: number, what: string): void {
    this.#allowedMs = delayMs
    this.#awaited = what
    if (!this.#isPaused) this.#timer.set(delayMs)
  }

  /** Nothing is expected of the server. */
  allowForever(): void {
    this.#allowedMs = 0
    this.#timer.clear()
  }

  /** The bytes of the call that returned false have been handled. */
  resume(): void {
    if (!this.#isPaused) return
    this.#isPaused = false
    if (this.#allowedMs > 0) this.#timer.set(this.#allowedMs)
    this.#socket?.resume()
  }

  /** The request cannot be sent completely: the connection must not be reused after this response. */
  spoil(): void {
    this.#keepsAlive = false
  }

  /** Cuts the connection without notifying its user. */
  destroy(): void {
    this.#user = undefined
    this.#leave()
    this.#socket?.destroy()
  }

  interim(head: AnswerHead): void {
    this.#user?.interim(head)
  }

  head(head: AnswerHead, length: number | undefined, body: Uint8Array | undefined): void {
    if (!head.keepsAlive || (head.framing === 'until-close' && body === undefined)) this.#keepsAlive = false
    this.#keepAliveMs = head.keepAliveMs
    this.#user?.head(head, length, body)
  }

  data(bytes: Uint8Array): void {
    if (this.#user === undefined || this.#user.data(bytes)) return
    this.#isPaused = true
    this.#timer.clear()
  }

  diagnostics(bytes: Uint8Array): void {
    this.#user?.diagnostics(bytes)
  }

  ended(trailers: HeaderList): void {
    const user = this.#user
    this.#user = undefined
    this.#isComplete = true
    this.allowForever()
    user?.ended(trailers)
  }

  #received(bytes: Buffer): void {
    if (this.#isGone) return
    this.#parser.push(bytes)
    if (this.#parser.state === 'bad') {
      this.#break('UPSTREAM_BAD_ANSWER', this.#parser.problem)
    } else if (this.#parser.state === 'refused') {
      this.#break(undefined, this.#parser.problem)
    } else if (this.#isComplete) {
      this.#isComplete = false
      if (this.#keepsAlive && this.#socket?.writable === true) this.#release()
      else this.destroy()
    }
  }

  /** Only here, when all bytes have been handled: bytes after a response must not become the beginning of the next one. */
  #release(): void {
    if (this.#isGone) return
    this.resume()
    this.#owner.idle(this, this.#keepAliveMs)
  }

  #ended(): void {
    if (this.#isGone) return
    this.#parser.close()
    if (this.#user === undefined) this.destroy()
    else this.#break(undefined, 'the server closed the connection')
  }

  #closed(): void {
    if (this.#user === undefined) this.#leave()
    else this.#break(undefined, this.#lastError?.message ?? 'the connection was closed')
  }

  #expired(): void {
    if (this.#user === undefined) this.destroy()
    else this.#break('UPSTREAM_TIMEOUT', `${this.#awaited} in ${this.#allowedMs} ms`)
  }

  #break(code: 'UPSTREAM_BAD_ANSWER' | 'UPSTREAM_TIMEOUT' | undefined, why: string): void {
    const user = this.#user
    const cause = this.#lastError === undefined ? {} : { cause: this.#lastError }
    this.destroy()
    user?.broken(new UpstreamError(code ?? 'UPSTREAM_UNREACHABLE', `${this.#name}: ${why}`, cause))
  }

  #leave(): void {
    if (this.#isGone) return
    this.#isGone = true
    this.#timer.close()
    this.#owner.gone(this)
  }
}
