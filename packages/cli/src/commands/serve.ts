import { resolve } from 'node:path'
import type { ConfigSource } from '@svc/config'
import type { Command } from '../command.ts'
import { findPrograms } from '../programs.ts'
import { configSource, withConfigOption } from '../source-options.ts'

interface ServeArgs {
  readonly dir: string | undefined
  readonly config: string | undefined
  readonly platform: string | undefined
  readonly site: string | undefined
  readonly listen: string | undefined
  readonly production: boolean
}

function sourceOf({ dir, production, listen, ...args }: ServeArgs): ConfigSource {
  return {
    ...configSource(args),
    ...(dir === undefined ? {} : { standalone: { dir: resolve(dir), production } }),
    ...(listen === undefined ? {} : { listen }),
  }
}

/** `svc serve`: runs the server in the foreground. */
export const serveCommand: Command<ServeArgs> = {
  usage: 'serve [dir]',
  describe: 'Run the server in the foreground',
  options: (yargs) =>
    withConfigOption(yargs)
      .positional('dir', { type: 'string', describe: 'Serve this one site directory, without a config file' })
      .option('platform', { type: 'string', requiresArg: true, describe: 'Platform file with [[apps]]' })
      .option('site', { type: 'string', requiresArg: true, describe: 'Serve only the site with this id' })
      .option('listen', { type: 'string', requiresArg: true, describe: 'Address, host:port; port 0 picks a free one' })
      .option('production', { type: 'boolean', default: false, describe: 'With a directory: no development mode' })
      .conflicts('dir', ['config', 'platform', 'site'])
      .example('$0 serve ./my-site', 'one site on http://127.0.0.1:8080, in development mode')
      .example('$0 serve --config /etc/svc/svc.config.toml', 'all sites of a config file')
      .example('$0 serve ./my-site --listen 127.0.0.1:0', 'on a free port'),
  run: async (args) => {
    const { runMaster } = await import('@svc/supervisor')
    const { site } = args
    return runMaster({ source: sourceOf(args), programs: findPrograms(), ...(site === undefined ? {} : { onlySite: site }) })
  },
}
