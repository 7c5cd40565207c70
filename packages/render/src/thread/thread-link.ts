import type { MessagePort, TransferListItem } from 'node:worker_threads'
import type { HostToThread, LogOrigin, RenderResult, StreamPart, TaskResult, ThreadToHost } from '../contract/thread-messages.ts'

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

  /**
   * Sends the result of a request, or a part of its answer, together with the others of this turn: a message costs more than
   * what it carries.
   */
  result(number: number, result: RenderResult | StreamPart): void {
    if (this.#results.length === 0) setImmediate(() => this.#sendResults())
    this.#results.push([number, result])
  }

  /** Sends a message, after the results before it. */
  post(message: ThreadToHost): void {
    this.#sendResults()
    this.#port.postMessage(message)
  }

  log(level: string, { requestId, trace }: LogOrigin, text: string): void {
    this.post({ t: 'log', level, origin: { requestId, trace }, text })
  }

  #sendResults(): void {
    if (this.#results.length === 0) return
    const results = this.#results
    this.#results = []
    const moved: TransferListItem[] = []
    // Bytes that own their memory are moved, not copied.
    for (const [, result] of results) {
      if ('body' in result && result.body instanceof Uint8Array) moved.push(...transferable(result.body))
    }
    this.#port.postMessage({ t: 'results', results } satisfies ThreadToHost, moved)
  }
}

/** The memory of a view that is not part of a shared pool. */
export function transferable(bytes: Uint8Array): TransferListItem[] {
  return bytes.byteLength === bytes.buffer.byteLength && bytes.buffer instanceof ArrayBuffer ? [bytes.buffer] : []
}
