import { execFile } from 'node:child_process'
import { type Clock, printableLine } from '@svc/core'

/** Variables of the environment with the service manager's notification address. */
type NotifyEnvironment = Readonly<Record<string, string | undefined>>

/** Announced states of sd_notify(3). */
type ServiceState = 'READY=1' | 'RELOADING=1' | 'STOPPING=1' | 'WATCHDOG=1'

/** Facts that are announced with a state. */
interface StateDetails {
  /** One line for `systemctl status`. */
  readonly status: string
  /** Time for the stop, if that is longer than the unit allows. */
  readonly extendMs?: number
}

const MICROSECONDS_PER_MS = 1000
const MAX_STATUS_LENGTH = 400
const SEND_TIMEOUT_MS = 5_000

/**
 * Notifies systemd of the service's state. Node has no datagram sockets for unix addresses, so the messages go out through
 * `systemd-notify`; the unit must set `NotifyAccess=all`, since they come from another process than the main one.
 */
export class ServiceManager {
  readonly #isWanted: boolean
  readonly #env: NodeJS.ProcessEnv
  readonly #watchdogMs: number | undefined
  readonly #clock: Clock
  readonly #onProblem: (error: Error) => void
  #cancel: () => void = () => undefined
  #isClosed = false
  #queue: Promise<void> = Promise.resolve()

  constructor(env: NotifyEnvironment, pid: number, clock: Clock, onProblem: (error: Error) => void) {
    this.#env = { PATH: env['PATH'], NOTIFY_SOCKET: env['NOTIFY_SOCKET'] }
    this.#isWanted = env['NOTIFY_SOCKET'] !== undefined && env['NOTIFY_SOCKET'] !== ''
    const isForUs = env['WATCHDOG_PID'] === undefined || Number(env['WATCHDOG_PID']) === pid
    const watchdogMs = Number(env['WATCHDOG_USEC']) / MICROSECONDS_PER_MS
    this.#watchdogMs = isForUs && watchdogMs > 0 ? watchdogMs : undefined
    this.#clock = clock
    this.#onProblem = onProblem
  }

  /** Announces a state, after the earlier ones. Resolves when it has been sent or has failed. */
  announce(state: ServiceState, details?: StateDetails): Promise<void> {
    // systemd wants the time of a reload with its beginning (Type=notify-reload).
    const time = state === 'RELOADING=1' ? [`MONOTONIC_USEC=${Number(process.hrtime.bigint() / 1000n)}`] : []
    const { status, extendMs } = details ?? {}
    return this.#queueUp([
      state,
      ...time,
      ...(status === undefined ? [] : [statusLine(status)]),
      ...(extendMs === undefined ? [] : [`EXTEND_TIMEOUT_USEC=${Math.ceil(extendMs * MICROSECONDS_PER_MS)}`]),
    ])
  }

  /** Announces a line for `systemctl status` and no change of state. */
  report(status: string): Promise<void> {
    return this.#queueUp([statusLine(status)])
  }

  /** Announces READY, and from then on pings the watchdog, if any, at half its time. */
  async ready(status: string): Promise<void> {
    await this.announce('READY=1', { status })
    this.#beat()
  }

  /** Stops the pings. A failure of a ping in flight is then ignored. */
  close(): void {
    this.#isClosed = true
    this.#cancel()
  }

  /** A timer of the event loop, so that a loop that stands still sends nothing. */
  #beat(): void {
    if (!this.#isWanted || this.#isClosed || this.#watchdogMs === undefined) return
    this.#cancel = this.#clock.after(this.#watchdogMs / 2, () => {
      this.announce('WATCHDOG=1').then(() => this.#beat(), this.#onProblem)
    })
  }

  #queueUp(assignments: readonly string[]): Promise<void> {
    if (!this.#isWanted) return Promise.resolve()
    this.#queue = this.#queue.then(() => this.#send(assignments))
    return this.#queue
  }

  #send(assignments: readonly string[]): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    execFile('systemd-notify', assignments, { timeout: SEND_TIMEOUT_MS, env: this.#env }, (error) => {
      if (error !== null && !this.#isClosed) this.#onProblem(error)
      resolve()
    })
    return promise
  }
}

function statusLine(status: string): string {
  return `STATUS=${printableLine(status).slice(0, MAX_STATUS_LENGTH)}`
}
