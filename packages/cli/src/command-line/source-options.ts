import { resolve } from 'node:path'
import type { ConfigSource, LoadedConfig } from '@svc/config'
import type { Argv } from 'yargs'
import { printProblems } from './output.ts'

/** Options that say which configuration a command is about. */
export interface SourceArgs {
  readonly config: string | undefined
  readonly platform?: string | undefined
  /** Directory of a standalone site. */
  readonly dir?: string | undefined
}

/** Options of a command about a running server that can print JSON. */
export interface ServerArgs extends SourceArgs {
  readonly json: boolean
}

const CONFIG_HELP = 'Config file [default: SVC_CONFIG, ./svc.config.toml, /etc/svc/svc.config.toml]'

/** Adds `--config`, which every command takes. */
export function withConfigOption(yargs: Argv) {
  return yargs.option('config', { type: 'string', requiresArg: true, describe: CONFIG_HELP })
}

/** Adds `--config`, `--platform` and `--dir`: the options of commands that speak to a running server. */
export function withServerOptions(yargs: Argv) {
  return withPlatform(yargs)
    .option('dir', { type: 'string', requiresArg: true, describe: 'The directory of "svc serve <dir>"' })
    .conflicts('dir', ['config', 'platform'])
}

/** Adds `--json` to them. */
export function withJson(yargs: Argv) {
  return withServerOptions(yargs).option('json', { type: 'boolean', default: false, describe: 'Print JSON' })
}

/** Adds `--platform`. */
export function withPlatform(yargs: Argv) {
  return withConfigOption(yargs).option('platform', {
    type: 'string',
    requiresArg: true,
    describe: 'File with [[apps]]: added to --config, or without --config the config file itself',
  })
}

/** Adds the id of a site as an argument. */
export const siteArgument = {
  type: 'string',
  demandOption: true,
  describe: 'Id of the site; "default" for a standalone one',
} as const

/** Turns options into the source of a configuration, with this process's environment, directory and user. */
export function configSource(args: SourceArgs): ConfigSource {
  const { config, platform, dir } = args
  return {
    ...(config === undefined ? {} : { file: config }),
    ...(platform === undefined ? {} : { platform }),
    ...(dir === undefined ? {} : { standalone: { dir: resolve(dir), production: false } }),
    env: process.env,
    cwd: process.cwd(),
    isRoot: process.getuid?.() === 0,
  }
}

/** Loads the configuration that the options mean. Prints every problem and returns undefined when there are any. */
export async function loadOrComplain(args: SourceArgs): Promise<LoadedConfig | undefined> {
  const { loadConfig } = await import('@svc/config')
  const result = await loadConfig(configSource(args))
  if (result.ok) return result
  await printProblems(result.problems)
  return undefined
}
