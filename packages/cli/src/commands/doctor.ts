import { printableLine } from '@svc/core'
import { ExitCode } from '@svc/protocol'
import { command } from '../command-line/command.ts'
import { printMessage, printResult } from '../command-line/output.ts'
import { type ServerArgs, withJson } from '../command-line/source-options.ts'
import type { Finding, Status } from '../doctor/model/finding.ts'
import { thisMachine } from '../doctor/model/machine.ts'
import { allChecks, examine } from '../doctor/run/examine.ts'
import { examined } from '../doctor/run/subject.ts'
import { unitText } from './systemd.ts'

/** Of a check, and of reading the configuration. */
const TIMEOUT_MS = 5_000
const STATUSES: readonly Status[] = ['problem', 'warning', 'unknown', 'ok']
const PLURAL: ReadonlySet<Status> = new Set(['problem', 'warning'])
const MARK_WIDTH = Math.max(...STATUSES.map((status) => status.length))

function lineOf({ check, status, message, remedy }: Finding): string {
  const line = `${status.padEnd(MARK_WIDTH)}  ${check}: ${printableLine(message)}`
  return remedy === undefined ? line : `${line}\n${' '.repeat(MARK_WIDTH)}  -> ${printableLine(remedy)}`
}

function summaryOf(findings: readonly Finding[]): string {
  const counts = STATUSES.map((status) => [findings.filter((one) => one.status === status).length, status] as const)
  const listed = counts
    .filter(([count]) => count > 0)
    .map(([count, status]) => `${count} ${status}${count > 1 && PLURAL.has(status) ? 's' : ''}`)
  return `svc doctor: ${listed.join(', ')}`
}

/** Shows the checks that are still running in the last line of a terminal. */
function showProgress(names: readonly string[]): void {
  if (!process.stderr.isTTY) return
  process.stderr.write(
    `\r\x1b[K${names.length === 0 ? '' : `checking ${names.join(', ')}`.slice(0, (process.stderr.columns ?? 80) - 1)}`,
  )
}

/** Waits until everything that was printed has been taken. */
function flushed(): Promise<void> {
  return new Promise((resolve) => process.stdout.write('', () => process.stderr.write('', () => resolve())))
}

/** `svc doctor`: looks for faults of the machine, the configuration and the running server. */
export const doctorCommand = command<ServerArgs>({
  usage: 'doctor',
  describe: 'Find faults of the machine, the configuration and the running server, with the commands that mend them',
  options: (yargs) =>
    withJson(yargs)
      .example('sudo $0 doctor', 'as root it sees all that the user of the server can and cannot do')
      .example('$0 doctor --json', 'for scripts: exit code 78 if there is a problem'),
  run: async ({ json, ...args }) => {
    showProgress(['the configuration'])
    const subject = await examined(args, thisMachine, unitText, TIMEOUT_MS)
    const { findings, isDone } = await examine(subject, allChecks, TIMEOUT_MS, showProgress)
    showProgress([])
    const isSound = findings.every(({ status }) => status !== 'problem')
    printResult(json, { ok: isSound, findings }, findings.map(lineOf).join('\n'))
    if (!json) printMessage(summaryOf(findings))
    if (!isDone || subject.unread !== undefined) {
      await flushed()
      // An ordinary exit would wait for the file system that does not answer.
      process.kill(process.pid, 'SIGKILL')
    }
    return isSound ? ExitCode.ok : ExitCode.config
  },
})
