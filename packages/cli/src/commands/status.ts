import { ExitCode, type StatusReport } from '@svc/protocol'
import type { Command } from '../command-line/command.ts'
import { formatTable, printData, printJson } from '../command-line/output.ts'
import { type SourceArgs, withServerOptions } from '../command-line/source-options.ts'
import { askServer, findControlSocket } from '../control/control-client.ts'

interface StatusArgs extends SourceArgs {
  readonly json: boolean
}

const TIMEOUT_MS = 10_000

function lastReloadText(last: StatusReport['last_reload']): string {
  if (last === null) return 'none'
  return last.ok ? `${last.at}, ok` : `${last.at}, failed:\n  ${last.errors.join('\n  ')}`
}

function describe(report: StatusReport): string {
  const workers = report.workers.map((worker) =>
    [worker.id, worker.pid, worker.state, worker.generation, worker.connections].map(String),
  )
  const hosts = report.hosts.map((host) => [host.id, String(host.pid), host.state, host.sites.join(' ')])
  const sites = report.sites.map((site) => [site.id, site.state, site.hostnames.join(' ')])
  return [
    `svc ${report.version}, pid ${report.pid}, generation ${report.generation}, up ${Math.round(report.uptime_secs)} s`,
    `listening on ${report.listen.join(' ')}`,
    `last reload: ${lastReloadText(report.last_reload)}`,
    '',
    formatTable(['WORKER', 'PID', 'STATE', 'GENERATION', 'CONNECTIONS'], workers),
    '',
    formatTable(['HOST', 'PID', 'STATE', 'SITES'], hosts),
    '',
    formatTable(['SITE', 'STATE', 'HOSTNAMES'], sites),
  ].join('\n')
}

/** `svc status`: what the running server is doing. */
export const statusCommand: Command<StatusArgs> = {
  usage: 'status',
  describe: 'Show the state of the server, its workers, hosts and sites',
  options: (yargs) =>
    withServerOptions(yargs)
      .option('json', { type: 'boolean', default: false, describe: 'Print JSON' })
      .example('$0 status --json', 'for scripts'),
  run: async ({ json, ...args }) => {
    const socket = await findControlSocket(args)
    const report = await askServer(socket, { method: 'status', request: undefined, timeoutMs: TIMEOUT_MS })
    if (json) printJson(report)
    else printData(describe(report))
    return ExitCode.ok
  },
}
