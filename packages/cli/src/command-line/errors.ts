import { AppError, type AppErrorOptions, type ErrorTable } from '@svc/core'
import { ExitCode } from '@svc/protocol'

/** Codes of errors raised by `cli`: each is a message for the user and an exit code. */
export type CliErrorCode =
  /** The command line is wrong. */
  | 'CLI_USAGE'
  /** There is no running server to talk to, or it does not answer. */
  | 'CLI_UNAVAILABLE'
  /** The server answers but is not done in time. */
  | 'CLI_NOT_DONE'
  /** The configuration is wrong. */
  | 'CLI_CONFIG'

const table = {
  CLI_USAGE: {},
  CLI_UNAVAILABLE: { retryable: true },
  CLI_NOT_DONE: { retryable: true },
  CLI_CONFIG: {},
} satisfies ErrorTable<CliErrorCode>

const exitCodes: Readonly<Record<CliErrorCode, number>> = {
  CLI_USAGE: ExitCode.usage,
  CLI_UNAVAILABLE: ExitCode.unavailable,
  CLI_NOT_DONE: ExitCode.temporary,
  CLI_CONFIG: ExitCode.config,
}

/** A user's mistake or a server that cannot be reached: told in words, without a stack trace. */
export class CliError extends AppError<CliErrorCode> {
  constructor(code: CliErrorCode, message: string, options?: AppErrorOptions) {
    super(code, message, table[code], options)
    this.name = 'CliError'
  }

  get exitCode(): number {
    return exitCodes[this.code]
  }
}
