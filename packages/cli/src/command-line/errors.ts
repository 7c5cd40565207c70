import { errorClass } from '@svc/core'
import { ExitCode } from '@svc/protocol'

/** An invalid command line or configuration, or an unreachable server: printed without a stack trace. */
export const CliError = errorClass('CliError', {
  /** The command line is wrong. */
  CLI_USAGE: { exitCode: ExitCode.usage },
  /** There is no running server to talk to, or it does not answer. */
  CLI_UNAVAILABLE: { retryable: true, exitCode: ExitCode.unavailable },
  /** The server answers but is not done in time. */
  CLI_NOT_DONE: { retryable: true, exitCode: ExitCode.temporary },
  /** The configuration is wrong. */
  CLI_CONFIG: { exitCode: ExitCode.config },
  /** The user pressed Ctrl-C at a prompt. */
  CLI_INTERRUPTED: { exitCode: ExitCode.interrupted },
})
export type CliError = InstanceType<typeof CliError>
