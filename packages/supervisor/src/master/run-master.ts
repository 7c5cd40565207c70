import { formatProblem, loadConfig } from '@svc/config'
import { asError, codeOf, printable, printableLine, systemClock } from '@svc/core'
import { defaultTimings, exitCodeOf, SupervisorError } from '@svc/processes'
import { ExitCode } from '@svc/protocol'
import { createLogger, prefixLines, prefixOn } from '@svc/telemetry'
import { LogStore } from '../logs/log-store.ts'
import { Master } from './master.ts'
import type { MasterOptions } from './parts.ts'

const WITHOUT_PRIVILEGE =
  'Let systemd start the server: the unit that "svc systemd" prints gives it the privilege. Or choose a port from 1024 on.'

/** Returns advice on a refused start. Undefined if the message is enough. */
export function startAdvice(error: unknown): string | undefined {
  if (!(error instanceof SupervisorError)) return undefined
  return error.data?.['needsPrivilege'] === true ? WITHOUT_PRIVILEGE : error.advice
}

function writeError(text: string): void {
  process.stderr.write(prefixLines(`${text}\n`, prefixOn(2, 'error')))
}

function complain(error: unknown): void {
  writeError(`svc: ${printable(asError(error).message)}`)
  const advice = startAdvice(error)
  if (advice !== undefined) writeError(advice)
}

/**
 * Runs the server in this process as its master until a signal or a command on the control socket stops it. Resolves with the
 * exit code of the process, after everything that it started has ended.
 */
export async function runMaster(options: MasterOptions): Promise<number> {
  const startedAt = systemClock.monotonic()
  // Without a listener SIGHUP ends the process, and it may concern files that have been read already.
  let isReloadAsked = false
  const early = () => {
    isReloadAsked = true
  }
  process.on('SIGHUP', early)
  // Without a listener it would open the port of the debugger.
  process.on('SIGUSR1', () => undefined)
  const loaded = await loadConfig(options.source)
  if (!loaded.ok) {
    for (const problem of loaded.problems) writeError(printableLine(formatProblem(problem)))
    return ExitCode.config
  }
  const { level, format } = loaded.config.logging
  const logs = new LogStore()
  const base = { proc: 'master', pid: process.pid }
  // Viewers read these lines: not for them are the audit log, and the names and addresses of users, among which are mistyped passwords.
  const isForViewers = ({ audit, username }: Readonly<Record<string, unknown>>) => (audit ?? username) === undefined
  const logger = createLogger({ level, format, base, onLine: (line, fields) => isForViewers(fields) && logs.add(line) })
  for (const notice of loaded.notices) logger.warn(notice)
  const timings = { ...defaultTimings, ...options.timings }
  const load = () => loadConfig(options.source)
  const master = new Master(loaded, { options, timings, clock: systemClock, logger, logs, startedAt, load })
  try {
    const ended = master.run()
    process.off('SIGHUP', early)
    if (isReloadAsked) master.reload()
    await ended
    return ExitCode.ok
  } catch (error) {
    if (codeOf(error)?.startsWith('SUP_') === true) complain(error)
    else logger.fatal({ err: asError(error) }, 'the master failed')
    return exitCodeOf(error)
  }
}
