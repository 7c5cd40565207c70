import { resolve } from 'node:path'
import type { ConfigSource } from '@svc/config'
import type { Argv } from 'yargs'

/** Options that say which configuration a command is about. */
export interface SourceArgs {
  readonly config: string | undefined
  readonly platform?: string | undefined
  /** Directory of a standalone site. */
  readonly dir?: string | undefined
}

const CONFIG_HELP = 'Config file [default: SVC_CONFIG, ./svc.config.toml, /etc/svc/svc.config.toml]'

/** Adds `--config`, which every command takes. */
export function withConfigOption(yargs: Argv) {
  return yargs.option('config', { type: 'string', requiresArg: true, describe: CONFIG_HELP })
}

/** Adds `--config` and `--dir`: the options of commands that speak to a running server. */
export function withServerOptions(yargs: Argv) {
  return withConfigOption(yargs)
    .option('dir', { type: 'string', requiresArg: true, describe: 'The directory of "svc serve <dir>"' })
    .conflicts('dir', 'config')
}

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
