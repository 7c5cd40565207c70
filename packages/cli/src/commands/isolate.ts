import { ExitCode } from '@svc/protocol'
import type { Argv } from 'yargs'
import { addCommand, type Command } from '../command-line/command.ts'
import { printData, printJson } from '../command-line/output.ts'
import { type SourceArgs, withServerOptions } from '../command-line/source-options.ts'
import { askServer, findControlSocket } from '../control/control-client.ts'

interface FlushArgs extends SourceArgs {
  readonly site: string
  readonly json: boolean
}

/** New isolates are warmed before they take over. */
const TIMEOUT_MS = 90_000

const flushCommand: Command<FlushArgs> = {
  usage: 'flush <site>',
  describe: 'Give a site fresh isolates; requests in flight finish on the old ones',
  options: (yargs) =>
    withServerOptions(yargs)
      .positional('site', { type: 'string', demandOption: true, describe: 'Id of the site; "default" for a standalone one' })
      .option('json', { type: 'boolean', default: false, describe: 'Print JSON' })
      .example('$0 isolate flush blog', 'if the state of its modules is stale'),
  run: async (args) => {
    const socket = await findControlSocket(args)
    const request = { site: args.site }
    const { isolates } = await askServer(socket, { method: 'flushIsolates', request, timeoutMs: TIMEOUT_MS })
    if (args.json) printJson({ layer: 'isolates', purged: isolates, site: args.site })
    else printData(`${args.site}: ${isolates} ${isolates === 1 ? 'isolate' : 'isolates'} replaced`)
    return ExitCode.ok
  },
}

/** Adds `svc isolate` with its commands. */
export function addIsolateCommands(yargs: Argv, settle: (exitCode: number) => void): Argv {
  return yargs.command('isolate', 'Replace the isolates of a site', (isolate: Argv) => {
    addCommand(isolate, flushCommand, settle)
    return isolate
      .demandCommand(1, 'Name a command: flush.')
      .strict()
      .example('$0 isolate flush blog', 'replace the isolates of one site')
  })
}
