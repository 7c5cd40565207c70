import { ExitCode } from '@svc/protocol'
import type { Command } from '../command-line/command.ts'
import { printData, printJson } from '../command-line/output.ts'
import { type SourceArgs, withConfigOption } from '../command-line/source-options.ts'
import { loadOrComplain } from './load-or-complain.ts'

interface ShowArgs extends SourceArgs {
  readonly json: boolean
}

/** `svc config show`: the effective configuration without its secrets. */
export const configShowCommand: Command<ShowArgs> = {
  usage: 'show',
  describe: 'Show the effective configuration with defaults; secrets as ***',
  options: (yargs) =>
    withConfigOption(yargs)
      .option('platform', { type: 'string', requiresArg: true, describe: 'Platform file with [[apps]]' })
      .option('json', { type: 'boolean', default: false, describe: 'Print JSON instead of TOML' })
      .example('$0 config show --json', 'for other programs'),
  run: async ({ json, ...args }) => {
    const loaded = await loadOrComplain(args)
    if (loaded === undefined) return ExitCode.config
    const { configToml, redact } = await import('@svc/config')
    const shown = redact(loaded.config)
    if (json) printJson(shown)
    else printData(configToml(shown).trimEnd())
    return ExitCode.ok
  },
}
