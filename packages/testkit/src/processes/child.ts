import { type ChildProcess, spawn } from 'node:child_process'
import type { Cleanup } from './temp-dir.ts'

/** How a child process ended. */
export interface Exit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/** Options of a child. */
export interface ChildOptions {
  readonly cwd?: string
  readonly env?: NodeJS.ProcessEnv
  /** `pipe`: the test writes to `process.stdin`. @default "ignore" */
  readonly stdin?: 'ignore' | 'pipe'
  /**
   * How it is ended after the test. A program with children of its own that do not notice its death needs SIGTERM.
   * @default "SIGKILL"
   */
  readonly endSignal?: 'SIGKILL' | 'SIGTERM'
}

// No test depends on these: they only end a run that hangs, and a machine under load must not reach them.
const STOP_TIMEOUT_MS = 60_000
const DEFAULT_WAIT_MS = 120_000
const PIPE_TIMEOUT_MS = 5_000

/** A child process whose output can be waited for, and that never outlives its test. */
export class Child {
  readonly process: ChildProcess
  readonly exited: Promise<Exit>
  stdout = ''
  stderr = ''
  readonly #waiters = new Set<() => void>()
  #exit: Exit | undefined

  constructor(t: Cleanup, command: string, args: readonly string[], options: ChildOptions = {}) {
    const { cwd, env, stdin = 'ignore' } = options
    this.process = spawn(command, args, { cwd, env, stdio: [stdin, 'pipe', 'pipe'] })
    const { promise, resolve } = Promise.withResolvers<Exit>()
    this.exited = promise
    this.process.on('error', (error) => {
      this.stderr += `${error.message}\n`
      this.#ended({ code: null, signal: null }, resolve)
    })
    this.process.on('exit', (code, signal) => this.#drainThenEnd({ code, signal }, resolve))
    // Decoded by the stream: a character may be cut in two by the pipe.
    this.process.stdout?.setEncoding('utf8').on('data', (data: string) => this.#received('stdout', data))
    this.process.stderr?.setEncoding('utf8').on('data', (data: string) => this.#received('stderr', data))
    t.after(async () => {
      if (options.endSignal === 'SIGTERM') await this.stop()
      else await this.kill()
    })
  }

  get pid(): number {
    return this.process.pid ?? 0
  }

  /**
   * Waits until a whole line of standard output or error satisfies `accept`, also one that was printed before.
   * @throws with everything printed so far when it does not come in time or the process ends without it
   */
  waitForLine(what: string, accept: (line: string) => boolean, timeoutMs = DEFAULT_WAIT_MS): Promise<string> {
    const { promise, resolve, reject } = Promise.withResolvers<string>()
    const find = () => this.#lines().find((line) => line !== '' && accept(line))
    const settle = () => {
      const line = find()
      if (line !== undefined) finish(() => resolve(line))
      else if (this.#exit !== undefined) finish(() => reject(this.#complaint(`ended without ${what}`)))
    }
    const timer = setTimeout(() => finish(() => reject(this.#complaint(`no ${what} within ${timeoutMs} ms`))), timeoutMs)
    const finish = (act: () => void) => {
      clearTimeout(timer)
      this.#waiters.delete(settle)
      act()
    }
    this.#waiters.add(settle)
    settle()
    return promise
  }

  signal(name: NodeJS.Signals): void {
    this.process.kill(name)
  }

  /** Ends the process by SIGTERM and waits for it. */
  async stop(timeoutMs = STOP_TIMEOUT_MS): Promise<Exit> {
    if (this.#exit === undefined) this.signal('SIGTERM')
    const timer = setTimeout(() => this.signal('SIGKILL'), timeoutMs)
    try {
      return await this.exited
    } finally {
      clearTimeout(timer)
    }
  }

  /** Ends the process at once, if it still runs. */
  async kill(): Promise<void> {
    if (this.#exit === undefined) this.signal('SIGKILL')
    await this.exited
  }

  /** Lines so far; the last line of a stream counts once the stream has ended. */
  #lines(): string[] {
    const whole = (text: string) => (this.#exit === undefined ? text.slice(0, text.lastIndexOf('\n') + 1) : text)
    return `${whole(this.stdout)}\n${whole(this.stderr)}`.split('\n')
  }

  #received(stream: 'stdout' | 'stderr', data: string): void {
    this[stream] += data
    if (process.env['VERBOSE'] === '1') process.stderr.write(data)
    for (const waiter of [...this.#waiters]) waiter()
  }

  /** Output may still be in the pipes, but a grandchild that keeps them open must not keep the test waiting. */
  #drainThenEnd(exit: Exit, resolve: (exit: Exit) => void): void {
    const end = () => {
      clearTimeout(timer)
      if (this.#exit === undefined) this.#ended(exit, resolve)
    }
    const giveUp = () => {
      this.process.stdout?.destroy()
      this.process.stderr?.destroy()
      end()
    }
    // If this process itself was blocked, it first reads the output that has arrived in the pipes by then.
    const timer = setTimeout(() => setImmediate(giveUp), PIPE_TIMEOUT_MS)
    this.process.once('close', end)
  }

  #ended(exit: Exit, resolve: (exit: Exit) => void): void {
    this.#exit = exit
    resolve(exit)
    for (const waiter of [...this.#waiters]) waiter()
  }

  #complaint(what: string): Error {
    return new Error(`${this.process.spawnargs.join(' ')}: ${what}\n--- stdout\n${this.stdout}\n--- stderr\n${this.stderr}`)
  }
}
