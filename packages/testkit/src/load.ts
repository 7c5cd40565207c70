import { type AgentOptions, Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import { fetchHttp, type HttpAnswer, type HttpOptions } from './http-client.ts'

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
}

/** A load that runs until it is stopped or has made `maxRequests`. */
export interface Load {
  /** Requests that have ended so far. */
  readonly done: () => number
  /** Awaits the requests in flight and reports. */
  stop(): Promise<LoadReport>
}

const MAX_REQUESTS = 2_000_000

function defaultCheck(answer: HttpAnswer): string | undefined {
  return answer.status === 200 ? undefined : `status ${answer.status}`
}

/** Starts clients that request one URL in a loop, each with one request at a time. */
export function startLoad(options: LoadOptions): Load {
  const check = options.check ?? defaultCheck
  const failures: string[] = []
  let ok = 0
  let isStopping = false
  const agentFor = (how: AgentOptions) => (options.url.startsWith('https:') ? new HttpsAgent(how) : new HttpAgent(how))
  const client = async (agent: HttpAgent) => {
    while (!isStopping && ok + failures.length < MAX_REQUESTS) {
      try {
        const problem = check(await fetchHttp(options.url, { ...options, agent }))
        if (problem === undefined) ok++
        else failures.push(problem)
      } catch (error) {
        failures.push(error instanceof Error ? error.message : String(error))
      }
    }
    agent.destroy()
  }
  const clients = [
    ...Array.from({ length: options.keepAlive }, () => client(agentFor({ keepAlive: true, maxSockets: 1 }))),
    ...Array.from({ length: options.fresh }, () => client(agentFor({ keepAlive: false }))),
  ]
  return {
    done: () => ok + failures.length,
    async stop() {
      isStopping = true
      await Promise.all(clients)
      return { ok, failures }
    },
  }
}
