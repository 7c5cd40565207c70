import { execFile } from 'node:child_process'
import type { Clock } from '@svc/core'

/** Variables of the environment with the service manager's notification address. */
type NotifyEnvironment = Readonly<Record<string, string | undefined>>

/** Announced states of sd_notify(3). */
type ServiceState = 'READY=1' | 'RELOADING=1' | 'STOPPING=1' | 'WATCHDOG=1'

const MICROSECONDS_PER_MS = 1000
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
  announce(state: ServiceState): Promise<void> {
    if (!this.#isWanted) return Promise.resolve()
    this.#queue = this.#queue.then(() => this.#send(state))
    return this.#queue
  }

  /** Announces READY, and from then on pings the watchdog, if any, at half its time. */
  async ready(): Promise<void> {
    await this.announce('READY=1')
    this.#beat()
  }

  /** Stops the pings. A failure of a ping in flight is then ignored. */
  close(): void {
    this.#isClosed = true
    this.#cancel()
  }

  #beat(): void {
    if (!this.#isWanted || this.#isClosed || this.#watchdogMs === undefined) return
    this.#cancel = this.#clock.after(this.#watchdogMs / 2, () => {
      this.announce('WATCHDOG=1').then(() => this.#beat(), this.#onProblem)
    })
  }

  #send(state: ServiceState): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    // systemd wants the time of a reload with its beginning (Type=notify-reload).
    const time = state === 'RELOADING=1' ? [`MONOTONIC_USEC=${Number(process.hrtime.bigint() / 1000n)}`] : []
    execFile('systemd-notify', [state, ...time], { timeout: SEND_TIMEOUT_MS, env: this.#env }, (error) => {
      if (error !== null && !this.#isClosed) this.#onProblem(error)
      resolve()
    })
    return promise
  }
}
