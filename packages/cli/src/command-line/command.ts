import type { Argv } from 'yargs'

/** A command of the command line. */
interface Command<Args> {
  /** Name and positional arguments as yargs writes them: `routes <site>`. */
  readonly usage: string
  /** One line for the list of commands. */
  readonly describe: string
  readonly options: (yargs: Argv) => Argv<Args>
  /** Does the work and resolves with the exit code. May throw a `CliError`. */
  readonly run: (args: Args) => Promise<number>
}

/** Adds a command to a parser. `settle` is called with the exit code. */
export type AddCommand = (yargs: Argv, settle: (exitCode: number) => void) => Argv

/** Returns a function that adds a command. */
export function command<Args>({ usage, describe, options, run }: Command<Args>): AddCommand {
  return (yargs, settle) => yargs.command(usage, describe, options, async (args: unknown) => settle(await run(args as Args)))
}

/** A command with commands of its own. */
interface CommandGroup {
  readonly name: string
  readonly describe: string
  readonly example: readonly [usage: string, meaning: string]
  /** The commands by name. */
  readonly commands: Readonly<Record<string, AddCommand>>
  /** Prepares the parser of the group. */
  readonly prepare?: (yargs: Argv) => void
}

/** Returns a function that adds a group of commands. */
export function commandGroup({ name, describe, example, commands, prepare }: CommandGroup): AddCommand {
  const names = Object.keys(commands)
  const list = names.length === 1 ? names.join() : `${names.slice(0, -1).join(', ')} or ${names.at(-1)}`
  return (yargs, settle) =>
    yargs.command(name, describe, (group: Argv) => {
      prepare?.(group)
      for (const add of Object.values(commands)) add(group, settle)
      return group
        .demandCommand(1, `Name a command: ${list}.`)
        .strict()
        .example(...example)
    })
}
