import { asError, type Clock } from '@svc/core'
import { type Connection, connectOnce } from './connections.ts'
import type { RedisAddress } from './redis-url.ts'

interface SubscriptionOptions {
  readonly address: RedisAddress
  /** Shown by `CLIENT LIST`. */
  readonly name: string
  readonly channel: string
  readonly onMessage: (message: string) => void
  /** Messages come from now on: at the beginning, and after each loss. */
  readonly onSubscribed: () => void
  readonly onLost: (error: Error) => void
  readonly clock: Pick<Clock, 'after'>
}

const RETRY_MS = 250
const MAX_RETRY_MS = 2_000

/**
 * Receives the messages of a channel as long as Redis is there. In a cluster, where every node has all messages, it has one
 * connection to one node, and takes the next one when that is lost.
 */
export class Subscription {
  readonly #options: SubscriptionOptions
  #connection: Connection | undefined
  #tries = 0
  #failures = 0
  #cancelRetry: (() => void) | undefined
  #isClosed = false

  constructor(options: SubscriptionOptions) {
    this.#options = options
    this.#connect()
  }

  close(): void {
    this.#isClosed = true
    this.#cancelRetry?.()
    this.#connection?.disconnect()
  }

  #connect(): void {
    const { address, name, channel, onMessage, onSubscribed, onLost } = this.#options
    const connection = connectOnce(address, name, this.#tries++)
    this.#connection = connection
    connection.on('error', onLost)
    connection.on('message', (_channel: string, message: string) => onMessage(message))
    connection.once('end', () => this.#retry())
    connection.once('ready', () => {
      connection.subscribe(channel).then(
        () => {
          this.#failures = 0
          onSubscribed()
        },
        (error: unknown) => {
          onLost(asError(error))
          connection.disconnect()
        },
      )
    })
  }

  #retry(): void {
    if (this.#isClosed) return
    const delayMs = Math.min(RETRY_MS * 2 ** Math.min(this.#failures++, 10), MAX_RETRY_MS)
    this.#cancelRetry = this.#options.clock.after(delayMs, () => this.#connect())
  }
}
