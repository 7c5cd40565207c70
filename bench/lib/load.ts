import { execFile } from 'node:child_process'
import { request as requestPlain } from 'node:http'
import { request as requestTls } from 'node:https'
import { promisify } from 'node:util'
import { cpuSeconds } from './process-tree.ts'

const run = promisify(execFile)

/** Measurements of a load on a server. */
export interface Measurement {
  readonly requestsPerSecond: number
  /** Requests per CPU second of the whole server (all its processes). */
  readonly requestsPerCpuSecond: number
  readonly p99Ms: number
  /** Connection errors and responses other than 2xx. */
  readonly errors: number
}

/** A load. */
export interface LoadOptions {
  readonly url: string
  readonly serverPid: number
  readonly seconds: number
  readonly connections: number
  readonly host?: string
  /** Further fields, e.g. "Accept: text/html". */
  readonly headers?: readonly string[]
}

const UNIT_MS: Readonly<Record<string, number>> = { us: 0.001, ms: 1, s: 1000, m: 60_000 }

function parseWrk(output: string): { requestsPerSecond: number; p99Ms: number; total: number; errors: number } {
  const number = (pattern: RegExp) => Number(pattern.exec(output)?.[1] ?? 0)
  const latency = /99%\s+([\d.]+)(us|ms|s|m)/.exec(output)
  const socket = /connect (\d+), read (\d+), write (\d+), timeout (\d+)/.exec(output)
  const socketErrors = socket === null ? 0 : socket.slice(1).reduce((sum, count) => sum + Number(count), 0)
  return {
    requestsPerSecond: number(/Requests\/sec:\s+([\d.]+)/),
    total: number(/(\d+) requests in/),
    p99Ms: Number(latency?.[1] ?? 0) * (UNIT_MS[latency?.[2] ?? 'ms'] ?? 1),
    errors: socketErrors + number(/Non-2xx or 3xx responses: (\d+)/),
  }
}

function fieldsOf({ host, headers = [] }: LoadOptions): readonly string[] {
  return host === undefined ? headers : [`Host: ${host}`, ...headers]
}

/** Returns the status of the response to one request as the load sends it. */
export function statusOf(options: LoadOptions): Promise<number> {
  const headers = Object.fromEntries(fieldsOf(options).map((field) => field.split(': ', 2)))
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  const request = options.url.startsWith('https:') ? requestTls : requestPlain
  const asked = request(options.url, { headers, agent: false, rejectUnauthorized: false }, (response) => {
    response.resume()
    resolve(response.statusCode ?? 0)
  })
  asked.on('error', reject)
  asked.end()
  return promise
}

async function wrk(options: LoadOptions, seconds: number): Promise<ReturnType<typeof parseWrk>> {
  const headers = fieldsOf(options).flatMap((field) => ['-H', field])
  const args = ['-c', '1', 'wrk', '-t1', `-c${options.connections}`, `-d${seconds}s`, '--latency', ...headers, options.url]
  const { stdout } = await run('taskset', args, { timeout: (seconds + 30) * 1000 })
  return parseWrk(stdout)
}

/** After four seconds a server that renders 200 pages a second in several processes still runs half of its code unoptimized. */
const WARM_UP_SECONDS = 8

/** Loads a server without measuring, until its code is compiled and its caches are filled. */
export async function warmUp(options: LoadOptions): Promise<void> {
  await wrk(options, WARM_UP_SECONDS)
}

/** Loads a server from the second core with keep-alive connections and measures one round. */
export async function measure(options: LoadOptions): Promise<Measurement> {
  const before = cpuSeconds(options.serverPid)
  const result = await wrk(options, options.seconds)
  const spent = cpuSeconds(options.serverPid) - before
  return { ...result, requestsPerCpuSecond: result.total / Math.max(spent, 0.01) }
}
