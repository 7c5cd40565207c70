import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { SupervisorError } from '../errors/errors.ts'

const OTHERS = 0o077

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
