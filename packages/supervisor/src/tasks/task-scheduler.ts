import { type Config, parseSchedule, type Schedule } from '@svc/config'
import type { Clock } from '@svc/core'
import { SupervisorError } from '@svc/processes'
import type { TaskRun, TaskStatus } from '@svc/protocol'
import type { RunHistory } from './run-history.ts'
import type { RunnableTask, TaskRunner } from './task-runner.ts'

type TaskConfig = Config['tasks'][number]

/** Timers of Node.js take no longer delays; the machine may sleep in between. */
const MAX_DELAY_MS = 3_600_000
/** A time of the schedule that is noticed later than this was missed: the machine slept. */
const MAX_LATE_MS = 60_000

interface Planned {
  readonly config: TaskConfig
  readonly schedule: Schedule
  dueMs: number | undefined
  cancel: () => void
}

interface TaskSchedulerOptions {
  readonly runner: TaskRunner
  readonly history: RunHistory
  /** The host of tasks that name none; undefined: there is no site. */
  readonly defaultHost: () => string | undefined
  readonly clock: Clock
}

/** Begins the runs of tasks when they are due. A time that passed while the server was down is not made up for. */
export class TaskScheduler {
  readonly #options: TaskSchedulerOptions
  readonly #tasks = new Map<string, Planned>()
  #isClosed = false

  constructor(options: TaskSchedulerOptions) {
    this.#options = options
  }

  /** The tasks of the configuration in service. Those that have not changed keep their next time. */
  serve(tasks: readonly TaskConfig[]): void {
    if (this.#isClosed) return
    const names = new Set(tasks.map(({ name }) => name))
    for (const [name, { cancel }] of this.#tasks) {
      if (names.has(name)) continue
      cancel()
      this.#tasks.delete(name)
    }
    this.#options.history.retain(names)
    for (const config of tasks) this.#plan(config)
  }

  list(): TaskStatus[] {
    const { runner, history } = this.#options
    return Array.from(this.#tasks.values(), ({ config, dueMs }) => {
      const { name, schedule, handler, enabled, overlap, timeout_secs } = config
      return {
        name,
        schedule,
        handler,
        host: this.#hostOf(config),
        enabled,
        overlap,
        timeout_secs,
        next_run_at: dueMs === undefined ? null : new Date(dueMs).toISOString(),
        last_run: [...runner.open(name), ...history.of(name)][0] ?? null,
      }
    })
  }

  /** The last runs of a task, the newest first. @throws SUP_UNKNOWN_TASK */
  runs(name: string): TaskRun[] {
    this.#require(name)
    return [...this.#options.runner.open(name), ...this.#options.history.of(name)]
  }

  /** Runs a task now, enabled or not. @throws SUP_UNKNOWN_TASK, SUP_TASK_RUNNING */
  async run(name: string): Promise<TaskRun> {
    const { config } = this.#require(name)
    const { runner, clock } = this.#options
    const run = await runner.begin(this.#runnable(config), 'manual', clock.now())
    if (run?.state === 'skipped') throw new SupervisorError('SUP_TASK_RUNNING', `${name} was not run: ${run.detail}`)
    if (run === undefined) throw new SupervisorError('SUP_TASK_RUNNING', `${name} is being run by another instance`)
    return run
  }

  /** Tasks that are enabled, and whose last run failed. */
  get failing(): string[] {
    const { history } = this.#options
    return Array.from(this.#tasks.values(), ({ config }) => config)
      .filter(({ name, enabled }) => enabled && history.of(name).find(({ state }) => state !== 'skipped')?.state === 'failed')
      .map(({ name }) => name)
  }

  close(): void {
    this.#isClosed = true
    for (const { cancel } of this.#tasks.values()) cancel()
    this.#options.runner.close()
  }

  #plan(config: TaskConfig): void {
    const before = this.#tasks.get(config.name)
    const isSame = before?.config.schedule === config.schedule && before.config.enabled === config.enabled
    if (isSame) {
      this.#tasks.set(config.name, Object.assign(before, { config }))
      return
    }
    before?.cancel()
    const planned: Planned = {
      config,
      schedule: parseSchedule(config.schedule),
      dueMs: undefined,
      cancel: () => undefined,
    }
    this.#tasks.set(config.name, planned)
    if (config.enabled) this.#planNext(planned, this.#options.clock.now())
  }

  #planNext(planned: Planned, afterMs: number): void {
    planned.dueMs = planned.schedule.next(afterMs)
    this.#wait(planned)
  }

  #wait(planned: Planned): void {
    const { clock } = this.#options
    if (planned.dueMs === undefined) return
    const delay = Math.min(MAX_DELAY_MS, Math.max(0, planned.dueMs - clock.now()))
    planned.cancel = clock.after(delay, () => this.#wake(planned))
  }

  #wake(planned: Planned): void {
    const { runner, clock } = this.#options
    const { dueMs, config } = planned
    const now = clock.now()
    if (dueMs === undefined || now < dueMs) {
      this.#wait(planned)
      return
    }
    this.#planNext(planned, Math.max(now, dueMs))
    if (now - dueMs <= MAX_LATE_MS) void runner.begin(this.#runnable(config), 'schedule', dueMs)
  }

  #runnable(config: TaskConfig): RunnableTask {
    const { name, handler, timeout_secs: seconds, overlap } = config
    const [, method = 'GET', target = '/'] = /^http::([A-Z]+) (\S*)$/.exec(handler) ?? []
    return { task: name, method, target, host: this.#hostOf(config), timeoutMs: seconds * 1000, overlap }
  }

  #hostOf({ host }: TaskConfig): string {
    return host ?? this.#options.defaultHost() ?? 'localhost'
  }

  #require(name: string): Planned {
    const planned = this.#tasks.get(name)
    if (planned === undefined) throw new SupervisorError('SUP_UNKNOWN_TASK', `there is no task ${name}`)
    return planned
  }
}
