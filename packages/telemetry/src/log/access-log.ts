import type { AccessEntry } from './access-entry.ts'
import { type AccessFormat, createAccessFormatter } from './access-line.ts'
import { HitLines } from './hit-lines.ts'
import { LineQueue } from './line-queue.ts'
import { RequestIds } from './request-id.ts'

/** Names of the logs that a line is for: paths of files, or "" for the log of the server. */
export type LogNames = readonly string[]

/** Most requests are for the log of the server alone. */
export const serverLog: LogNames = Object.freeze([''])

/** Options of an access log. */
interface AccessLogOptions {
  /** Of the log of the server. Other files have the combined format. */
  readonly format: AccessFormat
  /** Takes lines of the log of the server, which end in a newline. Must not block. */
  readonly output: { write(line: string): void }
  /** Begins each of them, for the reader of the output. */
  readonly prefix?: string
  /** Takes lines of other files. */
  readonly sendTo?: (path: string, line: string) => void
}

/** A request that L0 answered; one without an id gets a new one. */
export type HitEntry = Omit<AccessEntry, 'requestId' | 'cache'> & { readonly requestId: string | undefined }

/** Writes a line for each request. */
export class AccessLog {
  readonly #format: (entry: AccessEntry) => string
  readonly #fileFormat = createAccessFormatter('combined')
  readonly #output: AccessLogOptions['output']
  readonly #prefix: string
  readonly #sendTo: AccessLogOptions['sendTo']
  /** Undefined: lines of responses from L0 are written like all others. */
  readonly #hits: HitLines | undefined
  readonly #ids = new RequestIds()

  constructor({ format, output, prefix = '', sendTo }: AccessLogOptions) {
    this.#format = createAccessFormatter(format)
    this.#output = output
    this.#prefix = prefix
    this.#sendTo = sendTo
    if (format === 'json' && output instanceof LineQueue) this.#hits = new HitLines(output, prefix, this.#ids)
  }

  /** Writes the line of a request that L0 answered. */
  hit(entry: HitEntry, names: LogNames): void {
    const isPlain = entry.requestId === undefined && entry.trace === undefined && names.length === 1 && names[0] === ''
    if (isPlain && this.#hits?.write(entry) === true) return
    this.write({ ...entry, requestId: entry.requestId ?? this.#ids.next(), cache: 'l0-hit' }, names)
  }

  /** Writes a line that has been formatted already. */
  writeLine(name: string, line: string): void {
    if (name === '') this.#output.write(this.#prefix + line)
    else this.#sendTo?.(name, line)
  }

  write(entry: AccessEntry, names: LogNames = serverLog): void {
    for (let i = 0; i < names.length; i++) {
      const name = names[i] ?? ''
      if (name === '') this.#output.write(this.#prefix + this.#format(entry))
      else this.#sendTo?.(name, this.#fileFormat(entry))
    }
  }
}
