import { type AgentOptions, Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import { setTimeout as pause } from 'node:timers/promises'
import { fetchHttp, type HttpAnswer, type HttpOptions } from './http-client.ts'
import type { Cleanup } from './processes/temp-dir.ts'

/** The result of a load. */
export interface LoadReport {
  readonly ok: number
  /** One line per failed request: an error of the connection or an unexpected response. */
  readonly failures: readonly string[]
}

/** A load on a server. */
export interface LoadOptions extends HttpOptions {
  readonly url: string
  /** Clients that keep their connection. */
  readonly keepAlive: number
  /** Clients that open a connection for each request. */
  readonly fresh: number
  /** Returns the problem of a response, or undefined. @default status 200 */
  readonly check?: (answer: HttpAnswer) => string | undefined
  /**
   * Milliseconds between two requests of a client. Without a pause the load takes the cores from the processes that the test waits for.
   * @default 20
   */
  readonly pauseMs?: number
}

/** A load that runs until it is stopped or its test has ended. */
export interface Load {
  /** Requests that have ended so far. */
  readonly done: () => number
  /** Awaits the requests in flight and reports. */
  stop(): Promise<LoadReport>
}

const DEFAULT_PAUSE_MS = 20

function defaultCheck(answer: HttpAnswer): string | undefined {
  return answer.status === 200 ? undefined : `status ${answer.status}`
}

/** Starts clients that request one URL in a loop, each with one request at a time. */
export function startLoad(t: Cleanup, options: LoadOptions): Load {
  const { check = defaultCheck, pauseMs = DEFAULT_PAUSE_MS } = options
  const failures: string[] = []
  let ok = 0
  let isStopping = false
  const agentFor = (how: AgentOptions) => (options.url.startsWith('https:') ? new HttpsAgent(how) : new HttpAgent(how))
  const client = async (agent: HttpAgent) => {
    while (!isStopping) {
      try {
        const problem = check(await fetchHttp(options.url, { ...options, agent }))
        if (problem === undefined) ok++
        else failures.push(problem)
      } catch (error) {
        failures.push(error instanceof Error ? error.message : String(error))
      }
      if (pauseMs > 0) await pause(pauseMs)
    }
    agent.destroy()
  }
  const clients = [
    ...Array.from({ length: options.keepAlive }, () => client(agentFor({ keepAlive: true, maxSockets: 1 }))),
    ...Array.from({ length: options.fresh }, () => client(agentFor({ keepAlive: false }))),
  ]
  t.after(() => {
    isStopping = true
  })
  return {
    done: () => ok + failures.length,
    async stop() {
      isStopping = true
      await Promise.all(clients)
      return { ok, failures }
    },
  }
}
