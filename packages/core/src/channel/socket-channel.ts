import type { Socket } from 'node:net'
import { CoreError } from '../errors/errors.ts'
import type { Channel, Frame } from './channel.ts'
import { ClosedSignal } from './channel.ts'
import { FrameDecoder, FrameEncoder } from './frame-codec.ts'
import { connectUnix } from './unix-path.ts'

/** Limits of a channel over a socket. */
export interface SocketChannelOptions {
  /** A longer frame ends the channel. @default 64 MiB */
  readonly maxFrameBytes?: number
}

const DEFAULT_MAX_FRAME_BYTES = 64 * 1024 * 1024
/** One read takes up to this much: most of what a busy peer has sent since the last turn. */
const READ_BUFFER_BYTES = 256 * 1024

class SocketChannel implements Channel {
  readonly #socket: Socket
  readonly #closed = new ClosedSignal()
  readonly #decoder: FrameDecoder
  readonly #encoder: FrameEncoder
  #listener: ((frame: Frame) => void) | undefined
  #isCorked = false
  #failure: Error | undefined

  constructor(socket: Socket, options: SocketChannelOptions) {
    this.#socket = socket
    this.#decoder = new FrameDecoder(options.maxFrameBytes ?? DEFAULT_MAX_FRAME_BYTES)
    this.#encoder = new FrameEncoder({ write: (data, sent) => socket.write(data, sent) })
    socket.on('error', (error) => {
      this.#failure = error
    })
    socket.on('close', () => this.#closed.fire(this.#failure))
    socket.on('end', () => socket.end())
  }

  send(head: unknown, bytes?: Uint8Array | string): void {
    if (this.#closed.isClosed || !this.#socket.writable) return
    if (!this.#isCorked) {
      this.#isCorked = true
      this.#socket.cork()
      process.nextTick(() => this.#uncork())
    }
    this.#encoder.add(head, bytes)
  }

  onFrame(listener: (frame: Frame) => void): void {
    this.#listener = listener
    this.#socket.on('data', (data) => this.received(data, false))
  }

  onClosed(listener: (reason: Error | undefined) => void): void {
    this.#closed.listen(listener)
  }

  close(): void {
    if (this.#isCorked) this.#uncork()
    this.#socket.end()
    this.#closed.fire()
  }

  /** Takes what was read. `isLent`: the memory is used again for the next read. */
  received(data: Buffer, isLent: boolean): void {
    try {
      this.#decoder.push(data, isLent, (frame) => {
        if (!this.#closed.isClosed) this.#listener?.(frame)
      })
    } catch (error) {
      this.#failure = new CoreError('CORE_PROTOCOL', 'unreadable frame', { cause: error })
      this.#socket.destroy()
    }
  }

  #uncork(): void {
    this.#isCorked = false
    this.#encoder.flush()
    this.#socket.uncork()
  }
}

/**
 * A channel over a stream socket that is open already. Frames sent in one turn of the event loop leave in one write.
 */
export function createSocketChannel(socket: Socket, options: SocketChannelOptions = {}): Channel {
  return new SocketChannel(socket, options)
}

/** A channel whose socket is being connected. */
interface ConnectingChannel {
  readonly channel: Channel
  /** Resolves when the socket is connected; rejects with its error. The peer must not send before it was sent something. */
  readonly connected: Promise<void>
  /** Aborts the connection. */
  destroy(): void
}

/**
 * Connects a channel to a unix socket. It reads into one buffer again and again and lends the bytes of frames to its listener:
 * memory of their own for large frames would keep the garbage collector busy.
 */
export function connectSocketChannel(path: string, options: SocketChannelOptions = {}): ConnectingChannel {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const socket = connectUnix(path, {
    onread: {
      buffer: Buffer.allocUnsafeSlow(READ_BUFFER_BYTES),
      callback(count, buffer) {
        channel.received((buffer as Buffer).subarray(0, count), true)
        return true
      },
    },
  })
  const channel = new SocketChannel(socket, options)
  socket.once('connect', resolve)
  socket.once('error', reject)
  return { channel, connected: promise, destroy: () => socket.destroy() }
}
