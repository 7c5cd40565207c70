import { codeOf } from '@svc/core'
import { readPrivate, SupervisorError, siteFilePath } from '@svc/processes'
import { ExitCode, type SiteFile, siteFile } from '@svc/protocol'

/** A temporary failure: the server writes the file at its start and at each reload. */
function notYet(message: string, cause: unknown): SupervisorError {
  return new SupervisorError('SUP_SITE_FILE', message, { cause, data: { exitCode: ExitCode.temporary } })
}

/**
 * Reads the master's file for the unit of a site.
 * @throws SUP_SITE_FILE if it is missing, incomplete, of another site, or readable by others
 */
export async function readSiteFile(runDir: string, site: string): Promise<SiteFile> {
  const path = siteFilePath(runDir, site)
  let text: string
  try {
    text = await readPrivate(path)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') {
      const message = `missing file ${path}: the server writes it when it starts or reloads with a site "${site}" that has process = "own"`
      throw notYet(message, error)
    }
    if (codeOf(error) === 'SUP_SITE_FILE') throw error
    throw new SupervisorError('SUP_SITE_FILE', `cannot read ${path}: ${String(error)}`, { cause: error })
  }
  try {
    const file = siteFile(JSON.parse(text), 'site file')
    if (file.site === site && file.spec.sites?.[0]?.id === site) return file
  } catch (error) {
    throw notYet(
      `${path} is incomplete, or of another version than this program: "svc reload" makes the server write it again`,
      error,
    )
  }
  throw notYet(`${path} is not the file of the site "${site}"`, undefined)
}
