import { printableLine } from '@svc/core'
import { ExitCode } from '@svc/protocol'
import { command, commandGroup } from '../command-line/command.ts'
import { printData, printJson, printMessage, printResult } from '../command-line/output.ts'
import {
  loadOrComplain,
  type SourceArgs,
  withConfigOption,
  withPlatform,
  withServerOptions,
} from '../command-line/source-options.ts'
import { findServer } from '../control/control-client.ts'
import { credentialCommands } from './config-credentials.ts'
import { endpointCommands } from './config-endpoints.ts'

/** Every worker prepares before anything changes. */
const RESET_TIMEOUT_MS = 120_000

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
    const { readOverrides } = await import('@svc/supervisor')
    const overridden = await readOverrides(loaded.config.server.state_dir)
    const lines = overridden.map(({ key, value, at, username }) => {
      return printableLine(`# overridden: ${key} = ${JSON.stringify(value)} (${username}, ${at}); svc config reset ${key}`)
    })
    return printResult(
      json,
      overridden.length === 0 ? shown : { ...shown, overridden },
      [configToml(shown).trimEnd(), ...lines].join('\n'),
    )
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

interface CheckArgs extends SourceArgs {
  readonly verbose: boolean
}

/** `svc config check`: validates everything and prints every problem. */
const check = command<CheckArgs>({
  usage: 'check',
  describe: 'Check the config file, its vhost files, paths and certificates',
  options: (yargs) =>
    withPlatform(yargs)
      .option('verbose', { type: 'boolean', default: false, describe: 'List the directives of vhost files without effect' })
      .example('$0 config check', 'check the file that "svc serve" would load')
      .example('$0 config check --config new.toml && $0 reload', 'reload only if the file is valid'),
  run: async ({ verbose, ...args }) => {
    const loaded = await loadOrComplain(args)
    if (loaded === undefined) return ExitCode.config
    for (const notice of loaded.notices) printMessage(`notice: ${printableLine(notice)}`)
    for (const line of verbose ? loaded.ignoredDirectives : []) printMessage(printableLine(line))
    const count = loaded.sites.length
    printData(`${loaded.files[0] ?? 'configuration'}: ok, ${count} ${count === 1 ? 'site' : 'sites'}`)
    return ExitCode.ok
  },
})

interface ResetArgs extends SourceArgs {
  readonly key: string
}

/** `svc config reset`: ends a value that was set at run time. */
const reset = command<ResetArgs>({
  usage: 'reset <key>',
  describe: 'End a value that was set at run time: that of the config file holds again',
  options: (yargs) =>
    withServerOptions(yargs)
      .positional('key', { type: 'string', demandOption: true, describe: 'Key, as "config show" lists it' })
      .example('$0 config reset sites.shop.maintenance', 'the site serves again, unless the file says otherwise'),
  run: async ({ key, ...args }) => {
    const ask = await findServer(args)
    await ask('resetOverride', { key }, RESET_TIMEOUT_MS)
    printData(`${key}: reset`)
    return ExitCode.ok
  },
})

/** `svc config` with its commands. */
export const configCommands = commandGroup({
  name: 'config',
  describe: 'Check and show the configuration',
  example: ['$0 config check --config new.toml', 'report every mistake in a file at once'],
  commands: { check, show, schema, reset, endpoints: endpointCommands, credentials: credentialCommands },
})
