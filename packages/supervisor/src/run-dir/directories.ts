import { chmod, lstat, mkdir, realpath, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { MAX_RUN_DIR_BYTES } from '@svc/config'
import { codeOf, messageOf } from '@svc/core'
import { SupervisorError } from '../errors.ts'

const PRIVATE = 0o700
const ANYBODY_WRITES = 0o002

/** What all programs of a machine share. */
const SHARED = new Set(
  [
    '/ /bin /boot /dev /dev/shm /etc /home /lib /media /mnt /opt /proc /run /sbin /srv /sys /tmp /usr /usr/lib /usr/local /usr/share',
    '/var /var/cache /var/lib /var/lock /var/log /var/run /var/spool /var/tmp /var/www',
  ].flatMap((line) => line.split(' ')),
)

/** Whether others could not do without a directory. `path` without links. */
export function isShared(path: string): boolean {
  return SHARED.has(path)
}

/** In a directory like /tmp somebody else may have been quicker, and would own what we put there. */
async function checkOwner(directory: string): Promise<void> {
  const parent = await stat(dirname(directory))
  if ((parent.mode & ANYBODY_WRITES) === 0) return
  const info = await lstat(directory)
  if (info.isDirectory() && info.uid === process.geteuid?.()) return
  throw new SupervisorError(
    'SUP_DIRECTORY',
    `cannot use ${directory}: it belongs to somebody else, in a directory that anybody may write`,
  )
}

function reasonOf(error: unknown): string {
  const isForbidden = ['EACCES', 'EPERM', 'EROFS'].includes(String(codeOf(error)))
  return isForbidden ? 'it may not be written by this user' : messageOf(error)
}

function adviceFor(key: string): string {
  return `set ${key} (or the environment variable SVC_${key.toUpperCase().replace('.', '__')}) to another directory`
}

/**
 * Makes the directories of an instance, for its own user alone: paths by the key of the configuration that changes them.
 * @throws SUP_DIRECTORY naming the one that cannot be used
 */
export async function makeDirectories(directories: Readonly<Record<string, string>>): Promise<void> {
  for (const [key, directory] of Object.entries(directories)) {
    try {
      await mkdir(directory, { recursive: true, mode: PRIVATE })
      await checkOwner(directory)
      if (isShared(await realpath(directory))) {
        const message = `cannot use ${directory}: others use it too, and it would be closed to them; ${adviceFor(key)}`
        throw new SupervisorError('SUP_DIRECTORY', message)
      }
      await chmod(directory, PRIVATE)
    } catch (error) {
      if (error instanceof SupervisorError) throw error
      const message = `cannot use ${directory}: ${reasonOf(error)}; ${adviceFor(key)}`
      throw new SupervisorError('SUP_DIRECTORY', message, { cause: error })
    }
  }
}

/**
 * Checks that unix sockets fit below the run directory.
 * @throws SUP_DIRECTORY
 */
export function checkRunDirLength(runDir: string): void {
  const bytes = Buffer.byteLength(runDir)
  if (bytes <= MAX_RUN_DIR_BYTES) return
  throw new SupervisorError(
    'SUP_DIRECTORY',
    `server.run_dir is ${bytes} bytes long; sockets need one of at most ${MAX_RUN_DIR_BYTES}: ${runDir}; ${adviceFor('server.run_dir')}`,
  )
}
