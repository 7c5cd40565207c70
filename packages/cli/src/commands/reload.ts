import { ExitCode, type ReloadReport } from '@svc/protocol'
import { command } from '../command-line/command.ts'
import { printData, printMessage } from '../command-line/output.ts'
import { type SourceArgs, withServerOptions } from '../command-line/source-options.ts'
import { findServer } from '../control/control-client.ts'

/** A reload prepares every worker and host before anything changes. */
const TIMEOUT_MS = 120_000

function describe(report: ReloadReport): string {
  const changes = Object.entries(report.changed)
    .filter(([, count]) => count > 0)
    .map(([kind, count]) => `${count} ${kind}`)
  const what = changes.length === 0 ? 'no site changed' : `sites: ${changes.join(', ')}`
  return `generation ${report.generation}: ${what} (${Math.round(report.took_ms)} ms)`
}

/** `svc reload`: the same as SIGHUP, with an answer. */
export const reloadCommand = command<SourceArgs>({
  usage: 'reload',
  describe: 'Apply the changed configuration in the running server',
  options: (yargs) => withServerOptions(yargs).example('$0 reload', 'no request fails; on any error the old configuration stays'),
  run: async (args) => {
    const ask = await findServer(args)
    const report = await ask('reload', undefined, TIMEOUT_MS)
    for (const error of report.errors) printMessage(error)
    if (!report.ok) {
      printMessage(`svc: reload failed: generation ${report.generation} is still served`)
      return ExitCode.config
    }
    if (report.needs_restart.length > 0) printMessage(`needs a restart to take effect: ${report.needs_restart.join(', ')}`)
    printData(describe(report))
    return ExitCode.ok
  },
})
