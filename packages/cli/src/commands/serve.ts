import { isAbsolute, resolve } from 'node:path'
import type { ConfigSource } from '@svc/config'
import { command } from '../command-line/command.ts'
import { findPrograms } from '../command-line/installation.ts'
import { configSource, withPlatform } from '../command-line/source-options.ts'
import { findRunDir } from '../control/control-client.ts'

/** Files of a server and its processes are for its user alone. Sockets that others may connect to say so themselves. */
const PRIVATE_FILES = 0o077

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

/**
 * The run directory of the server that has a site. Of the configuration nothing else is of interest to the site's process, which
 * may not even be allowed to read it: then the environment names the directory.
 */
async function runDirOf(args: ServeArgs): Promise<string> {
  const named = process.env['SVC_SERVER__RUN_DIR']
  return named !== undefined && isAbsolute(named) ? named : await findRunDir(args)
}

/** `svc serve`: runs the server in the foreground. */
export const serveCommand = command<ServeArgs>({
  usage: 'serve [dir]',
  describe: 'Run the server in the foreground',
  options: (yargs) =>
    withPlatform(yargs)
      .positional('dir', { type: 'string', describe: 'Serve this one site directory, without a config file' })
      .option('site', {
        type: 'string',
        requiresArg: true,
        describe: 'Run the process of this site, which has process = "own"',
      })
      .option('listen', { type: 'string', requiresArg: true, describe: 'Listen address, host:port; port 0 picks a free port' })
      .option('production', { type: 'boolean', default: false, describe: 'With a directory: production mode' })
      .conflicts('dir', ['config', 'platform', 'site'])
      .conflicts('site', ['platform', 'listen'])
      .example('$0 serve ./my-site', 'one site on http://127.0.0.1:8080, in development mode')
      .example('$0 serve --config /etc/svc/svc.config.toml', 'all sites of a config file')
      .example('$0 serve ./my-site --listen 127.0.0.1:0', 'on a free port'),
  run: async (args) => {
    process.umask(PRIVATE_FILES)
    const { site } = args
    if (site === undefined) {
      const { runMaster } = await import('@svc/supervisor')
      return runMaster({ source: sourceOf(args), programs: findPrograms() })
    }
    const { runSiteUnit } = await import('@svc/site-unit')
    const { renderHost } = findPrograms()
    return runSiteUnit({ site, runDir: await runDirOf(args), renderHost, env: process.env })
  },
})
