import { Agent } from 'node:http'
import { ask } from './ask.ts'

/** One request of a client, in milliseconds of `performance.now()`. */
export interface TimedRequest {
  readonly startedAt: number
  readonly tookMs: number
  readonly hasFailed: boolean
}

/** Clients on kept connections, each with one request at a time and no pause. */
export class TimedClients {
  readonly requests: TimedRequest[] = []
  /** Texts of the first failures. */
  readonly failures: string[] = []
  readonly #clients: readonly Promise<void>[]
  #isOver = false

  constructor(count: number, url: string, host: string) {
    this.#clients = Array.from({ length: count }, () => this.#run(url, host))
  }

  /** Resolves when the requests in flight have ended. */
  async stop(): Promise<void> {
    this.#isOver = true
    await Promise.all(this.#clients)
  }

  async #run(url: string, host: string): Promise<void> {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    while (!this.#isOver) {
      const startedAt = performance.now()
      const problem = await ask(url, { agent, host }).then(() => undefined, String)
      this.requests.push({ startedAt, tookMs: performance.now() - startedAt, hasFailed: problem !== undefined })
      if (problem !== undefined && this.failures.length < 5) this.failures.push(problem)
    }
    agent.destroy()
  }
}
