import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { SupervisorError } from '../errors/errors.ts'

/** The kernel limits the path of a unix socket to 107 bytes, and the directory needs some of them. */
const MAX_NAME_BYTES = 28
/** Reserved names: sockets of the master. */
const TAKEN = /^(?:control|units|host-\d+)$/

const OTHERS = 0o077

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
 * @throws SUP_SITE_FILE if other users may; the error of the system if it is missing
 */
export async function readPrivate(path: string): Promise<string> {
  // Links are not followed: the target could be a file that another user may replace.
  const handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW)
  try {
    const info = await handle.stat()
    const self = process.geteuid?.()
    if (!info.isFile()) throw new SupervisorError('SUP_SITE_FILE', `${path} is not a file`)
    if (info.uid !== self) {
      throw new SupervisorError(
        'SUP_SITE_FILE',
        `${path} belongs to user ${info.uid}, and this process runs as user ${self}: a site unit runs as the user of the server`,
      )
    }
    if ((info.mode & OTHERS) !== 0) {
      const mode = (info.mode & 0o777).toString(8)
      throw new SupervisorError('SUP_SITE_FILE', `other users may read or write ${path} (mode ${mode}); it must have mode 600`)
    }
    return await handle.readFile('utf8')
  } finally {
    await handle.close()
  }
}
