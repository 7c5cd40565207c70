import { asError } from '@svc/core'
import type { EmittedError, HostOperation } from '../contract/isolate.ts'
import { RenderError } from '../errors.ts'
import { cryptoOperation } from './crypto-operations.ts'
import type { FetchClient } from './egress/lazy-site-fetch.ts'
import type { HeaderList } from './egress/request-headers.ts'
import type { GuestIsolate } from './guest-isolate.ts'

interface FetchFields {
  readonly requestNumber: number
  readonly url: string
  readonly method: string
  readonly headers: HeaderList
  readonly redirect?: 'follow' | 'manual' | 'error'
}

interface RunningFetch {
  readonly requestNumber: number
  readonly controller: AbortController
}

/** Errors that the web platform's `fetch` gives are all TypeErrors; crypto has one name for what it cannot do. */
function emittedError({ message }: Error, operation: HostOperation): EmittedError {
  const name = operation === 'fetch' ? 'TypeError' : 'OperationError'
  return { name, message, stack: `${name}: ${message}` }
}

/** A copy that owns its memory, as a transfer into an isolate needs. */
function owned(bytes: Uint8Array): ArrayBuffer {
  return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) as ArrayBuffer
}

/** Carries out what a guest asks of its host by `call`. */
export class HostOperations {
  readonly #isolate: GuestIsolate
  readonly #fetch: FetchClient
  readonly #cdnLoopOf: (requestNumber: number) => string
  readonly #running = new Map<number, RunningFetch>()

  constructor(isolate: GuestIsolate, fetch: FetchClient, cdnLoopOf: (requestNumber: number) => string) {
    this.#isolate = isolate
    this.#fetch = fetch
    this.#cdnLoopOf = cdnLoopOf
  }

  /** Starts an operation; its outcome goes to the guest by `settle`. Never throws. */
  call(callId: number, operation: HostOperation, json: string, bytes: ArrayBuffer | undefined): void {
    this.#run(callId, operation, json, bytes).catch((thrown: unknown) => {
      const error = JSON.stringify(emittedError(asError(thrown), operation))
      return this.#isolate.enter('settle', callId, false, error, undefined, true)
    })
  }

  /** Gives up the fetches of a request that is over. */
  abortOf(requestNumber: number): void {
    for (const { requestNumber: owner, controller } of this.#running.values()) {
      if (owner === requestNumber) controller.abort(new RenderError('RENDER_FETCH_FAILED', 'the request is over'))
    }
  }

  /** Gives up everything. */
  abortAll(): void {
    for (const { controller } of this.#running.values())
      controller.abort(new RenderError('RENDER_FETCH_FAILED', 'the isolate is gone'))
  }

  async #run(callId: number, operation: HostOperation, json: string, bytes: ArrayBuffer | undefined): Promise<void> {
    switch (operation) {
      case 'fetch':
        await this.#runFetch(callId, JSON.parse(json) as FetchFields, bytes)
        break
      case 'fetch-abort': {
        const target = (JSON.parse(json) as { callId: number }).callId
        this.#running.get(target)?.controller.abort(new RenderError('RENDER_FETCH_FAILED', 'aborted'))
        break
      }
      case 'digest':
      case 'hmac':
      case 'aes-gcm': {
        const result = cryptoOperation(operation, json, new Uint8Array(bytes ?? new ArrayBuffer(0)))
        await this.#settle(callId, result.json, result.bytes, true)
        break
      }
    }
  }

  async #runFetch(callId: number, fields: FetchFields, bytes: ArrayBuffer | undefined): Promise<void> {
    const { requestNumber, url, method, headers, redirect = 'follow' } = fields
    const controller = new AbortController()
    this.#running.set(callId, { requestNumber, controller })
    const body = bytes === undefined ? undefined : new Uint8Array(bytes)
    const cdnLoop = this.#cdnLoopOf(requestNumber)
    try {
      await this.#fetch.run(
        { url, method, headers, redirect, body, cdnLoop },
        {
          head: (head) => void this.#settle(callId, JSON.stringify(head), undefined, false),
          piece: (piece) => this.#settle(callId, '{}', piece, false),
        },
        controller.signal,
      )
    } catch (error) {
      // Nobody waits for it any more, and its number would stand in the way of those that somebody waits for.
      if (controller.signal.aborted) return
      throw error
    } finally {
      this.#running.delete(callId)
    }
    await this.#settle(callId, '{}', undefined, true)
  }

  #settle(callId: number, json: string, bytes: Uint8Array | undefined, isLast: boolean): Promise<void> {
    return this.#isolate.enter('settle', callId, true, json, bytes === undefined ? undefined : owned(bytes), isLast)
  }
}
