import { codeOf } from '@svc/core'
import { readPrivate, SupervisorError, siteFilePath } from '@svc/processes'
import { ExitCode, type SiteFile, siteFile } from '@svc/protocol'

/** Passing troubles: the server writes the file when it starts, and at each reload. */
function notYet(message: string, cause: unknown): SupervisorError {
  return new SupervisorError('SUP_SITE_FILE', message, { cause, data: { exitCode: ExitCode.temporary } })
}

/**
 * Reads what the master has written for the unit of a site.
 * @throws SUP_SITE_FILE when there is none, when it is not whole or not of that site, or when others may read it
 */
export async function readSiteFile(runDir: string, site: string): Promise<SiteFile> {
  const path = siteFilePath(runDir, site)
  let text: string
  try {
    text = await readPrivate(path)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') {
      const message = `there is no ${path}: the server writes it when it starts or reloads with a site "${site}" that has process = "own"`
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
      `${path} is not whole, or of another version than this program: "svc reload" has the server write it anew`,
      error,
    )
  }
  throw notYet(`${path} is not about the site "${site}"`, undefined)
}
