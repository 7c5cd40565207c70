import { asError, type Clock, CloseStack } from '@svc/core'
import type { Logger } from '@svc/telemetry'
import { SupervisorError } from '../errors/errors.ts'
import { ServiceManager } from './service-manager.ts'

/** The steps of a service process that differ between the master and a site unit. */
interface Service {
  /** Brings the service up and pushes the release of each part. Resolves when it is ready. */
  start(): Promise<void>
  /** The service in one line, for the service manager. */
  status(): string
  /** Lets requests end. */
  drain(): Promise<void>
  /** Longest time of `drain`. */
  drainMs(): number
  /** SIGHUP, once the service has started: before, the service manager would get READY too early. */
  reload(): Promise<unknown> | undefined
  /** Second signal to stop: ends everything in flight. */
  cut(): void
  /** SIGUSR1: opens its log files again. */
  reopenLogs(): Promise<void>
  /** SIGUSR2: writes a report. */
  diagnose(): Promise<void>
}

/** For processes to end and state to be saved behind the drain. */
const END_MARGIN_MS = 15_000

const STOP_SIGNALS: readonly NodeJS.Signals[] = ['SIGTERM', 'SIGQUIT', 'SIGINT']

/** One run of a service process: from its start until a signal or a command stops it, and the drain. */
export class ServiceRun {
  /** Releases what the service holds, in reverse order. */
  readonly stack: CloseStack
  readonly manager: ServiceManager
  readonly #service: Service
  readonly #logger: Logger
  readonly #stopAsked = Promise.withResolvers<void>()
  readonly #started = Promise.withResolvers<void>()
  #isStopping = false

  /** @param env names the service manager's notification address */
  constructor(service: Service, env: Readonly<Record<string, string | undefined>>, clock: Clock, logger: Logger) {
    this.#service = service
    this.#logger = logger
    this.stack = new CloseStack((step, error) => logger.error({ err: error }, `failed to close ${step}`))
    this.manager = new ServiceManager(env, process.pid, clock, (error) =>
      logger.warn({ err: error }, 'failed to notify the service manager'),
    )
  }

  /** Resolves when the service is ready. Never rejects. */
  get started(): Promise<void> {
    return this.#started.promise
  }

  /** Runs the service until a signal or `askStop`, then drains it. Rejects if the start fails. */
  async run(): Promise<void> {
    this.stack.push('signals', this.#listen())
    this.stack.push('service manager', () => this.manager.close())
    try {
      await this.#service.start()
      await this.manager.ready(this.#service.status())
      this.#started.resolve()
      await this.#stopAsked.promise
      const extendMs = this.#service.drainMs() + END_MARGIN_MS
      await this.manager.announce('STOPPING=1', { status: 'draining', extendMs })
      await this.#service.drain()
    } catch (error) {
      // Stopped during the start: there is nothing to drain.
      if (!this.#isStopping) throw error
    } finally {
      await this.stack.close()
    }
  }

  /** @throws SUP_STOPPED after a signal to stop or `askStop` */
  checkStop(): void {
    if (this.#isStopping) throw new SupervisorError('SUP_STOPPED', 'stopped during the start')
  }

  /** Waits for processes to start, until the service is stopped. @throws SUP_STOPPED */
  async unlessStopped(starting: Promise<unknown>): Promise<void> {
    await Promise.race([starting, this.#stopAsked.promise])
    this.checkStop()
  }

  /** Reloads the service, after the start if that is still running. Logs errors. */
  reload(): void {
    const run = async () => {
      await this.#started.promise
      if (!this.#isStopping) await this.#service.reload()
    }
    run().catch((error) => this.#logger.error({ err: asError(error) }, 'reload failed'))
  }

  askStop(why: string): void {
    if (this.#isStopping) return
    this.#isStopping = true
    this.#logger.info({ why }, 'stopping')
    this.#stopAsked.resolve()
  }

  /** Listens for signals; the returned function stops that. */
  #listen(): () => void {
    let hasSignal = false
    const stop = (signal: NodeJS.Signals) => {
      if (hasSignal) {
        this.#logger.warn({ signal }, 'second signal: cutting everything in flight')
        this.#service.cut()
      }
      hasSignal = true
      this.askStop(signal)
    }
    const reload = () => this.reload()
    const attempt = (task: () => Promise<void>, failure: string) => () =>
      void task().catch((error) => this.#logger.error({ err: asError(error) }, failure))
    const reopen = attempt(() => this.#service.reopenLogs(), 'failed to reopen the log files')
    const diagnose = attempt(() => this.#service.diagnose(), 'diagnostic report failed')
    for (const signal of STOP_SIGNALS) process.on(signal, stop)
    process.on('SIGHUP', reload)
    process.on('SIGUSR1', reopen)
    process.on('SIGUSR2', diagnose)
    return () => {
      for (const signal of STOP_SIGNALS) process.off(signal, stop)
      process.off('SIGHUP', reload)
      process.off('SIGUSR1', reopen)
      process.off('SIGUSR2', diagnose)
    }
  }
}
