import type { AccessEntry } from './access-entry.ts'
import { type AccessFormat, createAccessFormatter } from './access-line.ts'

/** Options of an access log. */
interface AccessLogOptions {
  readonly format: AccessFormat
  /** Takes lines, which end in a newline. Must not block. */
  readonly output: { write(line: string): void }
  /** Begins each line, for the reader of the output. */
  readonly prefix?: string
}

/** Writes a line for each request. */
export class AccessLog {
  readonly #format: (entry: AccessEntry) => string
  readonly #output: AccessLogOptions['output']
  readonly #prefix: string

  constructor({ format, output, prefix = '' }: AccessLogOptions) {
    this.#format = createAccessFormatter(format)
    this.#output = output
    this.#prefix = prefix
  }

  write(entry: AccessEntry): void {
    this.#output.write(this.#prefix + this.#format(entry))
  }
}
