import { messageOf, withDeadline } from '@svc/core'
import { certificatesCheck } from '../checks/certificates.ts'
import { clockCheck } from '../checks/clock.ts'
import { configurationCheck } from '../checks/configuration.ts'
import { directoriesCheck } from '../checks/directories.ts'
import { diskCheck } from '../checks/disk.ts'
import { networkCheck } from '../checks/network.ts'
import { openFilesCheck } from '../checks/open-files.ts'
import { redisCheck } from '../checks/redis.ts'
import { serverCheck } from '../checks/server.ts'
import { unitsCheck } from '../checks/units.ts'
import { versionsCheck } from '../checks/versions.ts'
import type { Finding } from '../model/finding.ts'
import type { Check, Subject } from '../model/subject.ts'

/** In the order of the report. */
export const allChecks: readonly Check[] = [
  configurationCheck,
  serverCheck,
  unitsCheck,
  directoriesCheck,
  diskCheck,
  certificatesCheck,
  redisCheck,
  openFilesCheck,
  networkCheck,
  clockCheck,
  versionsCheck,
]

/** Result of an examination. */
interface Examination {
  readonly findings: readonly Finding[]
  /** False: a check still waits, for a file system that does not answer. */
  readonly isDone: boolean
}

/**
 * Runs checks side by side. One that fails, or takes longer than `timeoutMs`, is unknown.
 * @param onWaiting is told which checks are still running, each time one ends
 */
export async function examine(
  subject: Subject,
  checks: readonly Check[],
  timeoutMs: number,
  onWaiting: (names: readonly string[]) => void,
): Promise<Examination> {
  const waiting = new Set(checks.map(({ name }) => name))
  onWaiting([...waiting])
  const findings = checks.map(async ({ name, run }): Promise<Finding[]> => {
    const work = run(subject)
    const ended = () => {
      waiting.delete(name)
      onWaiting([...waiting])
    }
    work.then(ended, ended)
    try {
      const verdicts = await withDeadline(work, timeoutMs, 'the check')
      return verdicts.map((verdict) => ({ check: name, ...verdict }))
    } catch (error) {
      return [{ check: name, status: 'unknown', message: `could not be checked: ${messageOf(error)}` }]
    }
  })
  return { findings: (await Promise.all(findings)).flat(), isDone: waiting.size === 0 }
}
