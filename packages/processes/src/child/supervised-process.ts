import type { ChildProcess } from 'node:child_process'
import { createIpcChannel, type Handlers, type MethodTable, RpcPeer, systemClock } from '@svc/core'
import { PROTOCOL_VERSION } from '@svc/protocol'

/** The exit of a process. */
export interface ProcessExit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/** Options of a `SupervisedProcess`. */
interface SupervisedOptions<Local extends MethodTable, Remote extends MethodTable> {
  readonly child: ChildProcess
  /** Names the process in errors and logs, e.g. "worker 2". */
  readonly name: string
  readonly local: Local
  readonly handlers: Handlers<Local>
  readonly remote: Remote
  readonly onProblem: (error: Error) => void
}

/** Formats an exit for a log line or an error. */
export function describeExit(exit: ProcessExit): string {
  return exit.signal === null ? `exit code ${exit.code}` : `signal ${exit.signal}`
}

/** A forked program and its RPC peer. */
export class SupervisedProcess<Local extends MethodTable = MethodTable, Remote extends MethodTable = MethodTable> {
  readonly name: string
  readonly peer: RpcPeer<Local, Remote>
  /** Resolves when the process has ended. Never rejects. */
  readonly exited: Promise<ProcessExit>
  readonly #child: ChildProcess
  #hasExited = false

  constructor(options: SupervisedOptions<Local, Remote>) {
    this.name = options.name
    this.#child = options.child
    const { promise, resolve } = Promise.withResolvers<ProcessExit>()
    this.exited = promise
    const ended = (exit: ProcessExit) => {
      this.#hasExited = true
      resolve(exit)
    }
    options.child.once('exit', (code, signal) => ended({ code, signal }))
    options.child.on('error', (error) => {
      options.onProblem(error)
      // A program that failed to start never exits.
      if (options.child.pid === undefined) ended({ code: null, signal: null })
    })
    this.peer = new RpcPeer({
      channel: createIpcChannel(options.child),
      local: options.local,
      handlers: options.handlers,
      remote: options.remote,
      protocolVersion: PROTOCOL_VERSION,
      peerName: options.name,
      onProblem: options.onProblem,
    })
  }

  /** Process id; 0 if the start failed. */
  get pid(): number {
    return this.#child.pid ?? 0
  }

  get hasExited(): boolean {
    return this.#hasExited
  }

  /** Kills the process without a chance to clean up. */
  kill(): void {
    if (!this.#hasExited) this.#child.kill('SIGKILL')
  }

  /** Closes the pipe, upon which the program exits by itself; kills it after `graceMs` otherwise. */
  async stop(graceMs: number): Promise<ProcessExit> {
    if (this.#hasExited) return this.exited
    this.peer.close()
    const cancel = systemClock.after(graceMs, () => this.kill())
    const exit = await this.exited
    cancel()
    return exit
  }
}
