import { ExitCode, type StatusReport } from '@svc/protocol'
import { command } from '../command-line/command.ts'
import { formatTable, printMessage, printResult } from '../command-line/output.ts'
import { type ServerArgs, withJson } from '../command-line/source-options.ts'
import { findServer } from '../control/control-client.ts'

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

/** `svc status`: the state of the running server. */
export const statusCommand = command<ServerArgs>({
  usage: 'status',
  describe: 'Show the state of the server, its workers, hosts and sites',
  options: (yargs) => withJson(yargs).example('$0 status --json', 'for scripts'),
  run: async ({ json, ...args }) => {
    const ask = await findServer(args)
    const report = await ask('status', undefined, TIMEOUT_MS)
    return printResult(json, report, describe(report))
  },
})

/** `svc sites`: the sites of the running server. */
export const sitesCommand = command<ServerArgs>({
  usage: 'sites',
  describe: 'List the sites of the running server',
  options: (yargs) => withJson(yargs).example('$0 sites', 'ids, labels, hosts, roots'),
  run: async ({ json, ...args }) => {
    const ask = await findServer(args)
    const { sites } = await ask('sites', undefined, TIMEOUT_MS)
    const rows = sites.map((site) => [site.id, site.label, site.state, site.process, site.hostnames.join(' '), site.root])
    printResult(json, sites, formatTable(['ID', 'LABEL', 'STATE', 'PROCESS', 'HOSTNAMES', 'ROOT'], rows))
    for (const { id, problems = 0 } of sites) {
      if (problems > 0) printMessage(`${id}: ${problems} problem${problems === 1 ? '' : 's'}; "svc routes ${id}" lists them`)
    }
    return ExitCode.ok
  },
})
