import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { codeOf, loadRegularFile, messageOf } from '@svc/core'
import { SupervisorError } from '../errors/errors.ts'

/** The kernel limits the path of a unix socket to 107 bytes, and the directory needs some of them. */
const MAX_NAME_BYTES = 28
/** Reserved names: sockets of the master. */
const TAKEN = /^(?:control|units|host-\d+)$/

/** Far more than the part of a generation for one site. */
const MAX_FILE_BYTES = 64 * 1024 * 1024

/** Path of the master's socket for site units. */
export function unitsSocket(runDir: string): string {
  return join(runDir, 'units.sock')
}

/** Directory of the files of sites with a process of their own. */
export function siteFilesDir(runDir: string): string {
  return join(runDir, 'sites')
}

/** Path of the file that the unit of a site reads. */
export function siteFilePath(runDir: string, site: string): string {
  return join(siteFilesDir(runDir), `${site}.json`)
}

/** Socket of the render host of a site's unit: `<run_dir>/<id>.sock`, or a hashed name for a long id. */
export function siteSocket(runDir: string, site: string): string {
  const name = `${site}.sock`
  if (name.length <= MAX_NAME_BYTES && !TAKEN.test(site)) return join(runDir, name)
  const digest = createHash('sha256').update(site).digest('hex').slice(0, 16)
  return join(runDir, `site-${digest}.sock`)
}

/**
 * Reads a file that only this user may read or write.
 * @throws SUP_SITE_FILE if other users may; the error of the system if it is missing, or a link
 */
export async function readPrivate(path: string): Promise<string> {
  try {
    return (await loadRegularFile(path, { maxBytes: MAX_FILE_BYTES, isPrivate: true })).bytes.toString('utf8')
  } catch (error) {
    if (codeOf(error) !== 'CORE_FILE_REFUSED') throw error
    throw new SupervisorError('SUP_SITE_FILE', messageOf(error), { cause: error })
  }
}
