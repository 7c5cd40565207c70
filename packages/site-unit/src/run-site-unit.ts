import { asError, codeOf, printable, systemClock } from '@svc/core'
import { defaultTimings, exitCodeOf } from '@svc/processes'
import { ExitCode } from '@svc/protocol'
import { createLogger } from '@svc/telemetry'
import { readSiteFile } from './read-site-file.ts'
import { SiteUnit, type SiteUnitOptions } from './site-unit.ts'

/**
 * Runs the unit of a site with a process of its own in this process until a signal stops it. Resolves with the exit code of the
 * process, after everything that it started has ended.
 */
export async function runSiteUnit(options: SiteUnitOptions): Promise<number> {
  const startedAt = systemClock.monotonic()
  try {
    const file = await readSiteFile(options.runDir, options.site)
    const { level, format } = file.spec.config.logging
    const logger = createLogger({ level, format, base: { proc: 'site-unit', site: options.site, pid: process.pid } })
    const timings = { ...defaultTimings, ...options.timings }
    await new SiteUnit(file, { options, timings, clock: systemClock, logger, startedAt }).run()
    return ExitCode.ok
  } catch (error) {
    const isOurs = codeOf(error)?.startsWith('SUP_') === true
    process.stderr.write(`svc: ${printable(String(isOurs ? asError(error).message : asError(error).stack))}\n`)
    return exitCodeOf(error)
  }
}
