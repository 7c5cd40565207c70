import type { MessagePort, TransferListItem } from 'node:worker_threads'
import type { HostToThread, RenderResult, TaskResult, ThreadToHost } from './thread-messages.ts'

/**
 * A thread's side of its link to the host: everything that it sends. Results do not go back through the pool, which takes a
 * message and several promises for each and keeps their bodies in memory far longer than they are needed.
 */
export class ThreadLink {
  readonly #port: MessagePort
  #results: TaskResult[] = []

  constructor(port: MessagePort, receive: (message: HostToThread) => void) {
    this.#port = port
    port.on('message', receive)
  }

  /** Sends the result of a request together with the others of this turn: a message costs more than what it carries. */
  result(number: number, result: RenderResult): void {
    if (this.#results.length === 0) setImmediate(() => this.#sendResults())
    this.#results.push([number, result])
  }

  /** Sends a message, after the results before it. Bytes that own their memory are moved, not copied. */
  post(message: ThreadToHost): void {
    this.#sendResults()
    const bytes = message.t === 'chunk' ? message.bytes : undefined
    this.#port.postMessage(message, bytes === undefined ? [] : transferable(bytes))
  }

  log(level: string, requestId: string, text: string): void {
    this.post({ t: 'log', level, requestId, text })
  }

  #sendResults(): void {
    if (this.#results.length === 0) return
    const results = this.#results
    this.#results = []
    this.#port.postMessage({ t: 'results', results } satisfies ThreadToHost, results.flatMap(movable))
  }
}

function movable([, result]: TaskResult): TransferListItem[] {
  return result.kind === 'complete' && result.body instanceof Uint8Array ? transferable(result.body) : []
}

/** The memory of a view that is not part of a shared pool. */
export function transferable(bytes: Uint8Array): TransferListItem[] {
  return bytes.byteLength === bytes.buffer.byteLength && bytes.buffer instanceof ArrayBuffer ? [bytes.buffer] : []
}

/** UTF-8 of a text in memory of its own, so that it can be moved to another thread. */
export function encodeOwned(text: string): Uint8Array {
  // Over half the pool's size Buffer allocates on its own; below, a copy of a few KB costs less than a transfer.
  return Buffer.from(text, 'utf8')
}
