import type { AccessEntry } from './access-entry.ts'
import { type AccessFormat, createAccessFormatter } from './access-line.ts'

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

/** Writes a line for each request. */
export class AccessLog {
  readonly #format: (entry: AccessEntry) => string
  readonly #fileFormat = createAccessFormatter('combined')
  readonly #output: AccessLogOptions['output']
  readonly #prefix: string
  readonly #sendTo: AccessLogOptions['sendTo']

  constructor({ format, output, prefix = '', sendTo }: AccessLogOptions) {
    this.#format = createAccessFormatter(format)
    this.#output = output
    this.#prefix = prefix
    this.#sendTo = sendTo
  }

  write(entry: AccessEntry, names: LogNames = serverLog): void {
    for (let i = 0; i < names.length; i++) {
      const name = names[i] ?? ''
      if (name === '') this.#output.write(this.#prefix + this.#format(entry))
      else this.#sendTo?.(name, this.#fileFormat(entry))
    }
  }
}
