import { printableLine } from '@svc/core'
import { ExitCode } from '@svc/protocol'
import type { Argv } from 'yargs'
import { addCommand, type Command } from '../command-line/command.ts'
import { printData, printJson, printMessage } from '../command-line/output.ts'
import { type SourceArgs, withConfigOption } from '../command-line/source-options.ts'
import { loadOrComplain } from './load-or-complain.ts'

interface ShowArgs extends SourceArgs {
  readonly json: boolean
}

/** `svc config show`: the effective configuration without its secrets. */
const configShowCommand: Command<ShowArgs> = {
  usage: 'show',
  describe: 'Print the effective configuration with defaults; secrets as ***',
  options: (yargs) =>
    withConfigOption(yargs)
      .option('platform', { type: 'string', requiresArg: true, describe: 'Platform file with [[apps]]' })
      .option('json', { type: 'boolean', default: false, describe: 'Print JSON instead of TOML' })
      .example('$0 config show --json', 'for scripts'),
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

/** `svc config schema`: the JSON Schema of the config file. */
const configSchemaCommand: Command<SourceArgs> = {
  usage: 'schema',
  describe: 'Print the JSON Schema of the config file',
  options: (yargs) => withConfigOption(yargs).example('$0 config schema > svc.schema.json', 'for completion in an editor'),
  run: async () => {
    const { schemaJson } = await import('@svc/config')
    printJson(schemaJson())
    return ExitCode.ok
  },
}

/** `svc config check`: validates everything and prints every problem. */
const configCheckCommand: Command<SourceArgs> = {
  usage: 'check',
  describe: 'Check the config file, its vhost files, paths and certificates',
  options: (yargs) =>
    withConfigOption(yargs)
      .option('platform', { type: 'string', requiresArg: true, describe: 'Platform file with [[apps]]' })
      .example('$0 config check', 'check the file that "svc serve" would load')
      .example('$0 config check --config new.toml && $0 reload', 'reload only if the file is valid'),
  run: async (args) => {
    const loaded = await loadOrComplain(args)
    if (loaded === undefined) return ExitCode.config
    for (const notice of loaded.notices) printMessage(`notice: ${printableLine(notice)}`)
    const count = loaded.sites.length
    printData(`${loaded.files[0] ?? 'configuration'}: ok, ${count} ${count === 1 ? 'site' : 'sites'}`)
    return ExitCode.ok
  },
}

/** Adds `svc config` with its commands. */
export function addConfigCommands(yargs: Argv, settle: (exitCode: number) => void): Argv {
  return yargs.command('config', 'Check and show the configuration', (config: Argv) => {
    addCommand(config, configCheckCommand, settle)
    addCommand(config, configShowCommand, settle)
    addCommand(config, configSchemaCommand, settle)
    return config
      .demandCommand(1, 'Name a command: check, show or schema.')
      .strict()
      .example('$0 config check --config new.toml', 'report every mistake in a file at once')
  })
}
