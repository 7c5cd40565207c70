import type { Readable } from 'node:stream'
import { type Config, settingsOfServer, type WebSpec } from '@svc/config'
import { asError, type Clock, codeOf, messageOf, userName } from '@svc/core'
import { SupervisorError } from '@svc/processes'
import { LineQueue, LineReceiver, LogFile, type Logger, linesIn } from '@svc/telemetry'

const CLOSE_TIMEOUT_MS = 1_000
/** Lines for a file that the configuration has dropped may still come from requests that began before. */
const RETIRED_MS = 60_000

/** The parts of a configuration that name log files. */
interface LoggingConfig {
  readonly config: Pick<Config, 'logging'>
  readonly web: Pick<WebSpec, 'servers'>
}

/** The log files that a configuration names. */
export function logPaths({ config: { logging }, web }: LoggingConfig): string[] {
  if (!logging.access) return []
  const paths = web.servers.flatMap((server) =>
    settingsOfServer(server).flatMap(({ accessLogs }) => accessLogs.map(({ path }) => path)),
  )
  return [...new Set([logging.access_file ?? '', ...paths])].filter((path) => path !== '')
}

/** A file that lines are written to. */
interface OpenLog {
  readonly file: LogFile
  readonly queue: LineQueue
  /** The path could not be opened again, which has been reported. */
  isStale: boolean
}

/** Explains why a log file cannot be opened. */
function reasonOf(error: unknown): string {
  switch (codeOf(error)) {
    case 'ENOENT':
      return 'its directory does not exist'
    case 'EACCES':
    case 'EPERM':
      return `the user ${userName()} may not write there`
    case 'ELOOP':
      return 'it is a symbolic link'
    case 'EISDIR':
    case 'ENXIO':
    case 'ENOTREG':
      return 'it is not a regular file'
    default:
      return messageOf(error)
  }
}

/**
 * The log files that the configuration names. The master alone opens and writes them: workers send their lines through pipes and
 * name only files of the configuration. Nothing here waits for a disk.
 */
export class LogFiles {
  readonly #clock: Clock
  readonly #logger: Logger
  readonly #logs = new Map<string, OpenLog>()
  readonly #streams = new Set<Promise<void>>()
  #cancelRetirement: () => void = () => undefined
  /** Of files that have been closed, and of lines for none. */
  #dropped = 0

  constructor(clock: Clock, logger: Logger) {
    this.#clock = clock
    this.#logger = logger
  }

  /** Lines dropped so far. */
  get droppedLines(): number {
    let dropped = this.#dropped
    for (const { queue } of this.#logs.values()) dropped += queue.droppedLines
    return dropped
  }

  /** Opens the files that are not open yet. @throws SUP_LOG_FILE */
  async open(paths: readonly string[]): Promise<void> {
    for (const path of paths) {
      if (this.#logs.has(path)) continue
      try {
        this.#add(await LogFile.open(path))
      } catch (error) {
        throw new SupervisorError('SUP_LOG_FILE', { path, why: reasonOf(error) }, { cause: error })
      }
    }
  }

  /** Closes the other files, after a while. */
  retain(paths: readonly string[]): void {
    this.#cancelRetirement()
    const retired = [...this.#logs.keys()].filter((path) => !paths.includes(path))
    if (retired.length === 0) return
    this.#cancelRetirement = this.#clock.after(RETIRED_MS, () => {
      for (const path of retired) void this.#close(path)
    })
  }

  /** Opens all paths again: the files may have been moved. A path that cannot be opened keeps its file. @returns how many could */
  async reopen(): Promise<number> {
    const logs = [...this.#logs.values()]
    const results = await Promise.allSettled(logs.map(({ file }) => file.reopen()))
    for (const [i, log] of logs.entries()) {
      const result = results[i]
      const isStale = result?.status === 'rejected'
      if (isStale && !log.isStale) {
        const facts = { path: log.file.path, reason: reasonOf(result.reason) }
        this.#logger.warn(facts, 'failed to reopen a log file; lines go on to the old one')
      }
      log.isStale = isStale
    }
    return results.filter(({ status }) => status === 'fulfilled').length
  }

  /** Writes the lines that a process sends, until its end. */
  receive(stream: Readable): void {
    const receiver = new LineReceiver((path, lines) => this.#write(path, lines))
    const { promise, resolve } = Promise.withResolvers<void>()
    stream.on('data', (chunk: Buffer) => {
      if (receiver.take(chunk)) return
      this.#logger.error('a process sent a log line that is too long: its lines are not read any more')
      stream.destroy()
    })
    stream.on('error', (error) => this.#logger.warn({ err: asError(error) }, 'failed to read log lines of a process'))
    stream.on('close', resolve)
    this.#streams.add(promise)
    promise.then(() => this.#streams.delete(promise))
  }

  /** Writes the lines that the processes sent before their end, and closes all files. */
  async close(): Promise<void> {
    this.#cancelRetirement()
    const { promise, resolve } = Promise.withResolvers<void>()
    const cancel = this.#clock.after(CLOSE_TIMEOUT_MS, resolve)
    await Promise.race([promise, Promise.all(this.#streams)])
    cancel()
    await Promise.all(Array.from(this.#logs.keys(), (path) => this.#close(path)))
  }

  #add(file: LogFile): void {
    const onDropping = (reason: string) => this.#logger.warn({ path: file.path, reason }, 'lines of a log file are dropped')
    this.#logs.set(file.path, { file, queue: new LineQueue({ sink: file, onDropping }), isStale: false })
  }

  #write(path: string, lines: Buffer): void {
    const log = this.#logs.get(path)
    if (log === undefined) this.#dropped += linesIn(lines)
    else log.queue.append(lines)
  }

  async #close(path: string): Promise<void> {
    const log = this.#logs.get(path)
    if (log === undefined) return
    this.#logs.delete(path)
    await log.queue.close(CLOSE_TIMEOUT_MS)
    this.#dropped += log.queue.droppedLines
  }
}
