import { formatProblem, loadConfig } from '@svc/config'
import { asError, codeOf, printable, printableLine, systemClock } from '@svc/core'
import { defaultTimings, SupervisorError } from '@svc/processes'
import { ExitCode } from '@svc/protocol'
import { createLogger } from '@svc/telemetry'
import { Master } from './master.ts'
import type { MasterOptions } from './options.ts'
import { startAdvice } from './start-advice.ts'

function complain(error: unknown): void {
  process.stderr.write(`svc: ${printable(asError(error).message)}\n`)
  const advice = startAdvice(error)
  if (advice !== undefined) process.stderr.write(`${advice}\n`)
}

/** The exit code for a start that failed. */
function exitCodeOf(error: unknown): number {
  if (!(error instanceof SupervisorError)) return ExitCode.internal
  const own = error.data?.['exitCode']
  return typeof own === 'number' ? own : (error.exitCode ?? ExitCode.internal)
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
  const loaded = await loadConfig(options.source)
  if (!loaded.ok) {
    for (const problem of loaded.problems) process.stderr.write(`${printableLine(formatProblem(problem))}\n`)
    return ExitCode.config
  }
  const { level, format } = loaded.config.logging
  const logger = createLogger({ level, format, base: { proc: 'master', pid: process.pid } })
  for (const notice of loaded.notices) logger.warn(notice)
  const timings = { ...defaultTimings, ...options.timings }
  const master = new Master({ options, timings, clock: systemClock, logger, startedAt, load: () => loadConfig(options.source) })
  try {
    const ended = master.run(loaded)
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
