import { ExitCode } from '@svc/protocol'
import type { Command } from '../command-line/command.ts'
import { formatTable, printData, printJson, printMessage } from '../command-line/output.ts'
import { type SourceArgs, withServerOptions } from '../command-line/source-options.ts'
import { askServer, findControlSocket } from '../control/control-client.ts'

interface SitesArgs extends SourceArgs {
  readonly json: boolean
}

const TIMEOUT_MS = 10_000

/** `svc sites`: the sites of the running server. */
export const sitesCommand: Command<SitesArgs> = {
  usage: 'sites',
  describe: 'List the sites of the running server',
  options: (yargs) =>
    withServerOptions(yargs)
      .option('json', { type: 'boolean', default: false, describe: 'Print JSON' })
      .example('$0 sites', 'ids, labels, hosts, roots'),
  run: async ({ json, ...args }) => {
    const socket = await findControlSocket(args)
    const { sites } = await askServer(socket, { method: 'sites', request: undefined, timeoutMs: TIMEOUT_MS })
    const rows = sites.map((site) => [site.id, site.label, site.state, site.process, site.hostnames.join(' '), site.root])
    if (json) printJson(sites)
    else printData(formatTable(['ID', 'LABEL', 'STATE', 'PROCESS', 'HOSTNAMES', 'ROOT'], rows))
    for (const { id, problems = 0 } of sites) {
      if (problems > 0) printMessage(`${id}: ${problems} problem${problems === 1 ? '' : 's'}; "svc routes ${id}" lists them`)
    }
    return ExitCode.ok
  },
}
