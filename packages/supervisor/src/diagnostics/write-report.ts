import { rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { StatusReport } from '@svc/protocol'

const PRIVATE = 0o600

/**
 * Writes a diagnostic report of this process and the state of the instance into a directory, without environment and command
 * line, where secrets could be. Returns its path.
 */
export async function writeReport(directory: string, status: StatusReport, now: Date): Promise<string> {
  const report = process.report.getReport() as { environmentVariables?: unknown; header?: { commandLine?: unknown } }
  delete report.environmentVariables
  if (report.header !== undefined) delete report.header.commandLine
  const path = join(directory, `report-${now.toISOString().replaceAll(':', '-')}-${process.pid}.json`)
  const temporary = `${path}.tmp`
  await writeFile(temporary, JSON.stringify({ status, report }, undefined, 2), { mode: PRIVATE })
  await rename(temporary, path)
  return path
}
