import { type ChildProcess, spawn } from 'node:child_process'

/** A server under measurement, pinned to the first core. */
export interface ServerProcess {
  readonly pid: number
  readonly url: string
  readonly startedInMs: number
  stop(): Promise<void>
}

/** Options of a server's start. */
export interface ServerCommand {
  readonly command: string
  readonly args: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
  /** Finds the base URL in the server's output; undefined: not ready yet. */
  readonly ready: (output: string) => string | undefined
}

const START_TIMEOUT_MS = 60_000
const STOP_TIMEOUT_MS = 10_000

function untilExit(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) resolve()
    else child.once('exit', () => resolve())
  })
}

async function stop(child: ChildProcess): Promise<void> {
  child.kill('SIGTERM')
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS)
  await untilExit(child)
  clearTimeout(timer)
}

/**
 * Starts a server on core 0 alone (or unpinned with `cores` 2) and waits until it is ready.
 * @throws with its output if it ends before that
 */
export function startPinned(server: ServerCommand, cores: 1 | 2 = 1): Promise<ServerProcess> {
  const startedAt = performance.now()
  const child = spawn('taskset', ['-c', cores === 1 ? '0' : '0,1', server.command, ...server.args], {
    cwd: server.cwd,
    env: { ...process.env, ...server.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const { promise, resolve, reject } = Promise.withResolvers<ServerProcess>()
  let output = ''
  const timer = setTimeout(() => {
    child.kill('SIGKILL')
    reject(new Error(`${server.command} was not ready in time:\n${output}`))
  }, START_TIMEOUT_MS)
  const received = (data: Buffer) => {
    if (output.length < 1_000_000) output += data.toString()
    const url = server.ready(output)
    if (url === undefined) return
    clearTimeout(timer)
    resolve({ pid: child.pid ?? 0, url, startedInMs: performance.now() - startedAt, stop: () => stop(child) })
  }
  child.stdout.on('data', received)
  child.stderr.on('data', received)
  child.once('error', reject)
  child.once('exit', (code) => {
    clearTimeout(timer)
    reject(new Error(`${server.command} ended with ${code}:\n${output}`))
  })
  return promise
}
