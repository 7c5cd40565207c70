import type { Argv } from 'yargs'

/** A command of the command line. */
export interface Command<Args> {
  /** Name and positional arguments as yargs writes them: `routes <site>`. */
  readonly usage: string
  /** One line for the list of commands. */
  readonly describe: string
  readonly options: (yargs: Argv) => Argv<Args>
  /** Does the work and resolves with the exit code. May throw a `CliError`. */
  readonly run: (args: Args) => Promise<number>
}

/** Adds a command to a parser. `settle` is told the exit code. */
export function addCommand<Args>(yargs: Argv, command: Command<Args>, settle: (exitCode: number) => void): Argv {
  const handler = async (args: unknown) => settle(await command.run(args as Args))
  return yargs.command(command.usage, command.describe, command.options, handler)
}
