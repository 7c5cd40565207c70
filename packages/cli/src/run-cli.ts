import { messageOf } from '@svc/core'
import { ExitCode, PRODUCT_VERSION } from '@svc/protocol'
import createParser, { type Argv } from 'yargs'
import type { AddCommand } from './command-line/command.ts'
import { CliError } from './command-line/errors.ts'
import { explainUsage, helpCommand } from './command-line/explain-usage.ts'
import { printMessage } from './command-line/output.ts'
import { configCommands } from './commands/config.ts'
import { doctorCommand } from './commands/doctor.ts'
import { newCommand } from './commands/new.ts'
import { purgeCommands } from './commands/purge.ts'
import { reloadCommand } from './commands/reload.ts'
import { isolateCommands, workersCommands } from './commands/renderers.ts'
import { routesCommand } from './commands/routes.ts'
import { serveCommand } from './commands/serve.ts'
import { sitesCommand, statusCommand } from './commands/status.ts'
import { stopCommand } from './commands/stop.ts'
import { systemdCommand } from './commands/systemd.ts'
import { vhostsCommands } from './commands/vhosts.ts'

/** In the order of the help. */
const commands: readonly AddCommand[] = [
  serveCommand,
  configCommands,
  vhostsCommands,
  reloadCommand,
  stopCommand,
  statusCommand,
  doctorCommand,
  sitesCommand,
  routesCommand,
  purgeCommands,
  workersCommands,
  isolateCommands,
  newCommand,
  systemdCommand,
]

const MAX_WIDTH = 100

/** Called by the parser for an invalid command line (`message`) or with the error of a command. */
function refuse(message: string | null, error: Error | undefined): never {
  if (message === null && error !== undefined) throw error
  throw new CliError('CLI_USAGE', message ?? 'invalid command line')
}

function buildParser(args: readonly string[], settle: (exitCode: number) => void): Argv {
  const yargs = createParser([...args])
    .scriptName('svc')
    .locale('en')
    .usage('$0 <command>\n\nA multi-site web application server.')
    .example('$0 serve ./my-site', 'serve one site for development')
    .example('$0 serve --config svc.config.toml', 'serve all sites of a config file')
    .example('$0 config check', 'check the config file')
    .epilogue('Each command has its own --help.\n\nExit codes: 0 done, 64 usage, 69 no server, 75 try later, 78 configuration.')
  for (const add of commands) add(yargs, settle)
  return yargs
    .demandCommand(1, 'Name a command.')
    .strict()
    .version(PRODUCT_VERSION)
    .help()
    .wrap(Math.min(MAX_WIDTH, process.stdout.columns ?? MAX_WIDTH))
    .parserConfiguration({ 'duplicate-arguments-array': false, 'parse-positional-numbers': false })
    .exitProcess(false)
    .fail(refuse)
}

/** Takes out the `--` after which all words are arguments: the parser would drop these. */
function withoutSeparator(args: readonly string[]): readonly string[] {
  const index = args.indexOf('--')
  if (index === -1) return args
  const words = args.slice(index + 1)
  if (words.some((word) => word.startsWith('-'))) throw new CliError('CLI_USAGE', 'an argument cannot begin with "-"')
  return [...args.slice(0, index), ...words]
}

async function report(error: unknown, args: readonly string[]): Promise<number> {
  if (error instanceof CliError) {
    const exitCode = error.exitCode ?? ExitCode.internal
    if (error.code !== 'CLI_USAGE') {
      printMessage(`svc: ${error.message}`)
      return exitCode
    }
    const { nearestName } = await import('@svc/core')
    printMessage(`svc: ${explainUsage(error.message, args, nearestName)}`)
    printMessage(`Run "${helpCommand(args)}" for help.`)
    return exitCode
  }
  printMessage(`svc: internal error: ${error instanceof Error ? error.stack : messageOf(error)}`)
  return ExitCode.internal
}

/** Runs one command line and resolves with the exit code. Data goes to standard output, messages to standard error. */
export async function runCli(args: readonly string[]): Promise<number> {
  let exitCode: number = ExitCode.ok
  try {
    const parser = buildParser(withoutSeparator(args), (settled) => {
      exitCode = settled
    })
    await parser.parseAsync()
    return exitCode
  } catch (error) {
    return report(error, args)
  }
}
