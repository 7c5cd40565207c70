import { type Clock, codeOf, Gate, messageOf } from '@svc/core'
import type { TaskRequest, TaskResponse, TaskRun } from '@svc/protocol'
import type { Logger } from '@svc/telemetry'
import type { RunClaims } from './run-claims.ts'
import type { RunHistory } from './run-history.ts'

/** Runs in progress at a time, so that tasks that are due together leave workers to visitors. The others wait. */
const MAX_RUNNING = 32
/** Runs of one task that wait for the one before, with `overlap = "queue"`. */
const MAX_QUEUED = 10
/** How often a waiting run tries to begin. */
const RETRY_MS = 500

/** A task as it runs. */
export interface RunnableTask extends Omit<TaskRequest, 'run'> {
  readonly overlap: 'skip' | 'queue'
}

type Trigger = TaskRun['trigger']

interface TaskRunnerOptions {
  readonly claims: RunClaims
  readonly history: RunHistory
  /** Has a worker make the request. Rejects if none can, or the time is over. */
  readonly request: (order: TaskRequest) => Promise<TaskResponse>
  readonly onEnded: (task: string, run: TaskRun) => void
  readonly newId: () => string
  readonly clock: Clock
  readonly logger: Logger
}

/** Runs tasks: each run is a request that a worker makes of itself. */
export class TaskRunner {
  readonly #options: TaskRunnerOptions
  readonly #gate = new Gate(MAX_RUNNING)
  /** Runs that wait or are in progress, by task. */
  readonly #open = new Map<string, TaskRun[]>()
  #isClosed = false

  constructor(options: TaskRunnerOptions) {
    this.#options = options
  }

  /** The runs of a task that have not ended, the newest first. */
  open(task: string): readonly TaskRun[] {
    return this.#open.get(task) ?? []
  }

  /**
   * Begins a run, or has it wait or skipped as the task wants it. Never rejects.
   * @returns the run; undefined: another instance runs the task for this time
   */
  async begin(task: RunnableTask, trigger: Trigger, dueMs: number): Promise<TaskRun | undefined> {
    const { claims, newId } = this.#options
    const run: TaskRun = {
      id: newId(),
      trigger,
      due_at: new Date(dueMs).toISOString(),
      started_at: null,
      duration_ms: null,
      state: 'waiting',
      status: null,
      detail: '',
    }
    const claim = { task: task.task, run: run.id, maxMs: task.timeoutMs }
    const result = await claims.claim({ ...claim, dueMs: trigger === 'schedule' ? dueMs : undefined })
    if (result === 'taken') return undefined
    const isQueued = result === 'busy' && task.overlap === 'queue' && this.open(task.task).length <= MAX_QUEUED
    if (result === 'busy' && !isQueued) {
      const reason = task.overlap === 'queue' ? `${MAX_QUEUED} runs wait already` : 'the run before it has not ended'
      return this.#ended(task, { ...run, state: 'skipped', detail: reason })
    }
    this.#open.set(task.task, [run, ...this.open(task.task)])
    void this.#runInTurn(task, run, result === 'granted')
    return run
  }

  close(): void {
    this.#isClosed = true
  }

  async #runInTurn(task: RunnableTask, waiting: TaskRun, isGranted: boolean): Promise<void> {
    const { claims, clock } = this.#options
    const claim = { task: task.task, run: waiting.id, dueMs: undefined, maxMs: task.timeoutMs }
    let isMine = isGranted
    while (!isMine && !this.#isClosed) {
      await new Promise<void>((resolve) => clock.after(RETRY_MS, resolve))
      // Those that have waited for longer go first.
      if (this.open(task.task).at(-1) === waiting) isMine = (await claims.claim(claim)) === 'granted'
    }
    if (isMine) await this.#gate.run(() => this.#run(task, waiting))
    await claims.release(task.task, waiting.id)
  }

  async #run(task: RunnableTask, waiting: TaskRun): Promise<void> {
    const { request, clock } = this.#options
    const startedAt = clock.monotonic()
    const run: TaskRun = { ...waiting, state: 'running', started_at: new Date(clock.now()).toISOString() }
    this.#replace(task.task, waiting, run)
    const { task: name, method, target, host, timeoutMs } = task
    const outcome = await request({ task: name, run: run.id, method, target, host, timeoutMs }).then(
      outcomeOf,
      (error: unknown) => {
        const isLate = codeOf(error) === 'CORE_TIMEOUT'
        return {
          state: 'failed',
          status: null,
          detail: isLate ? `no response in ${timeoutMs / 1000} s` : messageOf(error),
        } as const
      },
    )
    this.#replace(task.task, run, undefined)
    this.#ended(task, { ...run, ...outcome, duration_ms: Math.round(clock.monotonic() - startedAt) })
  }

  #ended(task: RunnableTask, run: TaskRun): TaskRun {
    const { history, logger, onEnded } = this.#options
    history.add(task.task, run)
    onEnded(task.task, run)
    const { state, status, duration_ms, detail } = run
    if (state === 'failed') logger.error({ task: task.task, run: run.id, status, duration_ms }, `task failed: ${detail}`)
    else if (state === 'skipped') logger.warn({ task: task.task, run: run.id }, `run of a task skipped: ${detail}`)
    return run
  }

  #replace(task: string, one: TaskRun, by: TaskRun | undefined): void {
    const runs = this.open(task).flatMap((run) => (run === one ? (by ?? []) : run))
    if (runs.length === 0) this.#open.delete(task)
    else this.#open.set(task, runs)
  }
}

function outcomeOf({ status, location }: TaskResponse): Pick<TaskRun, 'state' | 'status' | 'detail'> {
  if (status >= 200 && status < 300) return { state: 'ok', status, detail: '' }
  if (status === 0) return { state: 'failed', status: null, detail: 'the response broke off' }
  const detail = location === '' ? `status ${status}` : `status ${status}, a redirect to ${location}`
  return { state: 'failed', status, detail }
}
