import { join } from 'node:path'
import { asError, entryOf } from '@svc/core'
import { type TaskRun, taskRun } from '@svc/protocol'
import type { Logger } from '@svc/telemetry'
import { RecordFile } from '../audit/record-file.ts'

/** Runs that are kept of each task. */
const MAX_RUNS = 50
/** Of the file: 50 runs of some hundred tasks. */
const MAX_BYTES = 8 * 1024 * 1024

/** The last runs of each task, which survive a restart. */
export class RunHistory {
  readonly #runs = new Map<string, TaskRun[]>()
  readonly #file: RecordFile
  readonly #logger: Logger
  #hasFailed = false

  private constructor(file: RecordFile, logger: Logger) {
    this.#file = file
    this.#logger = logger
  }

  /** Reads the runs of an earlier process. */
  static async open(stateDir: string, logger: Logger): Promise<RunHistory> {
    const history = new RunHistory(new RecordFile(join(stateDir, 'task-runs.jsonl'), MAX_BYTES), logger)
    for await (const line of history.#file.newestFirst()) {
      const stored = storedRun(line)
      if (stored === undefined) continue
      const runs = entryOf(history.#runs, stored.task, () => [])
      if (runs.length < MAX_RUNS) runs.push(stored.run)
    }
    return history
  }

  /** The newest first. */
  of(task: string): readonly TaskRun[] {
    return this.#runs.get(task) ?? []
  }

  /** Adds a run that has ended, or was skipped. */
  add(task: string, run: TaskRun): void {
    const runs = entryOf(this.#runs, task, () => [])
    runs.unshift(run)
    if (runs.length > MAX_RUNS) runs.pop()
    this.#file.append(JSON.stringify({ task, ...run })).then(
      () => {
        this.#hasFailed = false
      },
      (error) => {
        if (!this.#hasFailed)
          this.#logger.error({ err: asError(error) }, 'failed to save the run of a task: a restart forgets it')
        this.#hasFailed = true
      },
    )
  }

  /** Forgets the runs of tasks that are not configured any more. */
  retain(tasks: ReadonlySet<string>): void {
    for (const task of this.#runs.keys()) if (!tasks.has(task)) this.#runs.delete(task)
  }

  close(): Promise<void> {
    return this.#file.close()
  }
}

/** Undefined: the line is not one of ours, or was cut by a crash. */
function storedRun(line: string): { readonly task: string; readonly run: TaskRun } | undefined {
  try {
    const { task, ...run } = JSON.parse(line)
    return typeof task === 'string' ? { task, run: taskRun(run) } : undefined
  } catch {
    return undefined
  }
}
