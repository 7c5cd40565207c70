import { type ChildProcess, fork } from 'node:child_process'
import { CHILD_FLAGS, Gate, messageOf, withDeadline } from '@svc/core'
import { SupervisorError } from '@svc/processes'
import { type ConfigVerdict, configVerdict } from '@svc/protocol'
import type { CheckRequest } from './check-config-text.ts'

/** Far more than a large configuration needs. */
const LIMIT_MS = 20_000
/** Checks that may wait for the one in progress. */
const MAX_WAITING = 8
const EXEC_ARGV = [...CHILD_FLAGS, '--max-old-space-size=256']

/** Options of `ConfigChecks`. */
interface CheckOptions extends Pick<CheckRequest, 'source'> {
  /** Absolute path of the program that checks. */
  readonly program: string
}

/** Validates configurations that are not in service: one at a time, each in a process of its own. */
export class ConfigChecks {
  readonly #options: CheckOptions
  readonly #gate = new Gate(1)
  #running: ChildProcess | undefined
  #isClosed = false

  constructor(options: CheckOptions) {
    this.#options = options
  }

  /** Validates a text as the content of the config file. @throws SUP_CONFIG_CHECK */
  async check(toml: string): Promise<ConfigVerdict> {
    if (this.#gate.waiting >= MAX_WAITING)
      throw new SupervisorError('SUP_CONFIG_CHECK', 'too many checks of configurations are queued: try again later')
    return this.#gate.run(() => this.#run({ source: this.#options.source, toml }))
  }

  /** Aborts the check in progress. */
  close(): void {
    this.#isClosed = true
    this.#running?.kill('SIGKILL')
  }

  async #run(request: CheckRequest): Promise<ConfigVerdict> {
    if (this.#isClosed) throw new SupervisorError('SUP_STOPPED', 'the server is stopping')
    const child = fork(this.#options.program, [], {
      env: {},
      execArgv: EXEC_ARGV,
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    })
    this.#running = child
    try {
      return configVerdict(await withDeadline(replyOf(child, request), LIMIT_MS, 'the check'), 'verdict')
    } catch (error) {
      const message = `failed to check the configuration: ${messageOf(error)}; "svc config check" on the server may say why`
      throw new SupervisorError('SUP_CONFIG_CHECK', message, { cause: error })
    } finally {
      child.kill('SIGKILL')
      this.#running = undefined
    }
  }
}

/** Sends a request to a process. Rejects when it ends without a reply. */
function replyOf(child: ChildProcess, request: CheckRequest): Promise<unknown> {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>()
  child.once('message', resolve)
  child.once('error', reject)
  child.once('exit', (code, signal) => reject(new SupervisorError('SUP_CONFIG_CHECK', `the process ended (${signal ?? code})`)))
  child.send(request, (error) => {
    if (error !== null) reject(error)
  })
  return promise
}
