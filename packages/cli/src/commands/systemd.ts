import { resolve } from 'node:path'
import type { ListenName, LoadedConfig } from '@svc/config'
import { ExitCode } from '@svc/protocol'
import { command } from '../command-line/command.ts'
import { CliError } from '../command-line/errors.ts'
import { installation, lastingInstallation } from '../command-line/installation.ts'
import { printData } from '../command-line/output.ts'
import { loadOrComplain, type SourceArgs, withPlatform } from '../command-line/source-options.ts'
import { socketUnitFile } from './socket-unit-file.ts'
import { unitFile } from './unit-file.ts'

interface SystemdArgs extends SourceArgs {
  readonly site: string | undefined
  readonly socket: boolean | undefined
  readonly user: string
}

/** A unit of an installation. */
interface Unit {
  /** Id of a site with a process of its own. @default the unit of the server */
  readonly site?: string
  /** The socket unit of the server. */
  readonly isSocket?: boolean
  readonly user: string
  /** Absolute path of the directory that the product is installed in. */
  readonly installation: string
  /** Options that the configuration was loaded with. */
  readonly args: SourceArgs
}

/**
 * Returns the text of a unit file for a configuration.
 * @throws CLI_USAGE if no unit can serve it
 */
export async function unitText(loaded: LoadedConfig, unit: Unit): Promise<string> {
  if (unit.isSocket === true) return socketUnit(loaded.listen)
  const { site, user, installation: directory, args } = unit
  const { server, cache, scaling } = loaded.config
  if (server.run_dir.startsWith('/tmp/')) {
    throw new CliError(
      'CLI_USAGE',
      `a unit has a /tmp of its own: set server.run_dir to another place than ${server.run_dir}, e.g. /run/svc`,
    )
  }
  const [configFile] = loaded.files
  if (configFile === undefined) throw new CliError('CLI_USAGE', 'a unit needs a config file; name one with --config')
  const { logPaths } = await import('@svc/supervisor')
  return unitFile({
    installation: directory,
    user,
    configFile: resolve(configFile),
    // Alone it is the config file.
    platformFile: args.config === undefined || args.platform === undefined ? undefined : resolve(args.platform),
    directories: { run: server.run_dir, state: server.state_dir, cache: cache.dir },
    logFiles: logPaths(loaded),
    drainSeconds: scaling.graceful_shutdown_timeout_secs,
    site,
  })
}

/** @throws CLI_USAGE */
async function socketUnit(listen: readonly ListenName[]): Promise<string> {
  const text = await socketUnitFile(listen)
  if (text !== undefined) return text
  throw new CliError('CLI_USAGE', 'a socket unit needs a listen address of TCP with a port other than 0')
}

/** `svc systemd`: prints a unit file for the server, its sockets, or a site with a process of its own. */
export const systemdCommand = command<SystemdArgs>({
  usage: 'systemd',
  describe: 'Print the systemd unit of the server or of a site',
  options: (yargs) =>
    withPlatform(yargs)
      .option('site', { type: 'string', requiresArg: true, describe: 'Print the unit of this site, which has process = "own"' })
      .option('socket', { type: 'boolean', describe: 'Print the socket unit of the server' })
      .conflicts('site', 'socket')
      .option('user', { type: 'string', requiresArg: true, default: 'svc', describe: 'User of the unit' })
      .example('$0 systemd > /etc/systemd/system/svc.service', 'the server')
      .example('$0 systemd --socket > /etc/systemd/system/svc.socket', 'its sockets, which stay open during a restart')
      .example('$0 systemd --site shop > /etc/systemd/system/svc-shop.service', 'a site with process = "own"'),
  run: async ({ site, socket, user, ...args }) => {
    const loaded = await loadOrComplain(args)
    if (loaded === undefined) return ExitCode.config
    const wanted = loaded.sites.find(({ id }) => id === site)
    if (site !== undefined && wanted?.process !== 'own') {
      const own = loaded.sites.filter((one) => one.process === 'own').map(({ id }) => id)
      throw new CliError('CLI_USAGE', `no site "${site}" with process = "own"; there are: ${own.join(', ') || 'none'}`)
    }
    const where = await lastingInstallation(resolve(installation()))
    const kind = { ...(site === undefined ? {} : { site }), ...(socket === undefined ? {} : { isSocket: socket }) }
    printData(await unitText(loaded, { ...kind, user, installation: where, args }))
    return ExitCode.ok
  },
})
