import { printableLine } from '@svc/core'
import { ExitCode } from '@svc/protocol'
import { command, commandGroup } from '../command-line/command.ts'
import { printData, printJson, printMessage, printResult } from '../command-line/output.ts'
import { loadOrComplain, type SourceArgs, withConfigOption, withPlatform } from '../command-line/source-options.ts'
import { credentialCommands } from './config-credentials.ts'
import { endpointCommands } from './config-endpoints.ts'

interface ShowArgs extends SourceArgs {
  readonly json: boolean
}

/** `svc config show`: the effective configuration without its secrets. */
const show = command<ShowArgs>({
  usage: 'show',
  describe: 'Print the effective configuration with defaults; secrets as ***',
  options: (yargs) =>
    withPlatform(yargs)
      .option('json', { type: 'boolean', default: false, describe: 'Print JSON instead of TOML' })
      .example('$0 config show --json', 'for scripts'),
  run: async ({ json, ...args }) => {
    const loaded = await loadOrComplain(args)
    if (loaded === undefined) return ExitCode.config
    const { configToml, redact } = await import('@svc/config')
    const shown = redact(loaded.config)
    return printResult(json, shown, configToml(shown).trimEnd())
  },
})

/** `svc config schema`: the JSON Schema of the config file. */
const schema = command<SourceArgs>({
  usage: 'schema',
  describe: 'Print the JSON Schema of the config file',
  options: (yargs) => withConfigOption(yargs).example('$0 config schema > svc.schema.json', 'for completion in an editor'),
  run: async () => {
    const { schemaJson } = await import('@svc/config')
    printJson(schemaJson())
    return ExitCode.ok
  },
})

/** `svc config check`: validates everything and prints every problem. */
const check = command<SourceArgs>({
  usage: 'check',
  describe: 'Check the config file, its vhost files, paths and certificates',
  options: (yargs) =>
    withPlatform(yargs)
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
})

/** `svc config` with its commands. */
export const configCommands = commandGroup({
  name: 'config',
  describe: 'Check and show the configuration',
  example: ['$0 config check --config new.toml', 'report every mistake in a file at once'],
  commands: { check, show, schema, endpoints: endpointCommands, credentials: credentialCommands },
})
