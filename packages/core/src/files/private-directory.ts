import { constants, type Stats } from 'node:fs'
import { type FileHandle, lstat, mkdir, open, readdir, readlink } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { codeOf } from '../errors/app-error.ts'
import { CoreError } from '../errors/errors.ts'

const PRIVATE = 0o700
const PERMISSIONS = 0o777
const OTHERS_WRITE = 0o002
const GROUP_WRITES = 0o020
const STICKY = 0o1000
/** As many as the kernel follows in one path. */
const MAX_LINKS = 40

/**
 * Opens a directory that only the user of this process can enter, and makes it, and the directories above it, where they are
 * missing. No other user can replace what the path leads to afterwards. The caller closes the handle.
 *
 * - The directory must be one, and not a symbolic link to one. It must belong to the user of the process. Permissions of others
 *   are taken away; if others could write it, it must be empty, because what is in it may be theirs.
 * - Every directory above it must belong to root or to the user, and only these, or a group of the process, may write it. In a
 *   directory with the sticky bit, as /tmp, every user may. A symbolic link among them must belong to root or to the user.
 * @throws CORE_UNSAFE_DIRECTORY naming the path, its owner or mode, and the remedy; else what the file system says
 */
export async function openPrivateDirectory(path: string): Promise<FileHandle> {
  const absolute = resolve(path)
  const parent = await new PathWalk(true).enter(dirname(absolute))
  const own = join(parent, absolute.slice(absolute.lastIndexOf('/') + 1))
  await makeMissing(own)
  const handle = await openUnfollowed(own)
  try {
    await takeFor(own, handle)
    return handle
  } catch (error) {
    await handle.close()
    throw error
  }
}

/**
 * Says why another user could replace what lies in a directory, or in one above it. Undefined: none can, or the directory cannot
 * be reached at all.
 */
export async function unsafeReason(directory: string): Promise<string | undefined> {
  try {
    await new PathWalk(false).enter(resolve(directory))
    return undefined
  } catch (error) {
    if (error instanceof CoreError) return error.message
    return undefined
  }
}

/**
 * A walk from the root directory, one name after the other. Each directory is checked before the next name is looked up in it: a
 * name that others cannot replace still leads to the same place when it is used later.
 */
class PathWalk {
  readonly #isMaking: boolean
  #links = 0

  constructor(isMaking: boolean) {
    this.#isMaking = isMaking
  }

  /** @returns the directory without symbolic links */
  async enter(directory: string): Promise<string> {
    const owners = await trustedOwners()
    const names = directory.split('/')
    let current = '/'
    checkContainer(current, await lstat(current), owners)
    for (let name = names.shift(); name !== undefined; name = names.shift()) {
      const next = join(current, name)
      if (next === current) continue
      const info = await this.#look(next)
      checkOwner(next, info, owners)
      if (info.isSymbolicLink()) {
        const target = await this.#follow(next)
        names.unshift(...target.split('/'))
        if (target.startsWith('/')) current = '/'
        continue
      }
      checkContainer(next, info, owners)
      current = next
    }
    return current
  }

  async #look(path: string): Promise<Stats> {
    if (this.#isMaking) await makeMissing(path)
    return lstat(path)
  }

  async #follow(link: string): Promise<string> {
    if (++this.#links > MAX_LINKS) throw unsafe(`too many symbolic links on the way to ${link}`)
    return readlink(link)
  }
}

async function makeMissing(path: string): Promise<void> {
  try {
    await lstat(path)
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error
    await mkdir(path, { mode: PRIVATE }).catch(ignoreExisting)
  }
}

function ignoreExisting(error: unknown): void {
  if (codeOf(error) !== 'EEXIST') throw error
}

/** Root, this user, and the owner of the root directory: in a user namespace root itself may have another number. */
async function trustedOwners(): Promise<ReadonlySet<number>> {
  return new Set([0, effectiveUser(), (await lstat('/')).uid])
}

function effectiveUser(): number {
  return process.geteuid?.() ?? 0
}

function checkOwner(path: string, { uid }: Stats, owners: ReadonlySet<number>): void {
  if (owners.has(uid)) return
  throw unsafe(
    `${path} belongs to user ${uid}, who could replace what lies below it; this process runs as user ${effectiveUser()}`,
  )
}

/** Checks that no other user can replace what lies in a directory. */
function checkContainer(path: string, info: Stats, owners: ReadonlySet<number>): void {
  checkOwner(path, info, owners)
  if (!info.isDirectory()) throw unsafe(`${path} is not a directory`)
  if ((info.mode & STICKY) !== 0) return
  const isOpenToGroup = (info.mode & GROUP_WRITES) !== 0 && !ownGroups().has(info.gid)
  if ((info.mode & OTHERS_WRITE) === 0 && !isOpenToGroup) return
  const writers = isOpenToGroup ? `group ${info.gid}` : 'every user'
  const remedy = isOpenToGroup ? `chmod g-w ${path}` : `chmod o-w ${path}, or chmod +t ${path} as for /tmp`
  throw unsafe(`${path} can be written by ${writers} (mode ${modeText(info)}), who could replace what lies in it; ${remedy}`)
}

function ownGroups(): ReadonlySet<number> {
  return new Set([0, process.getegid?.() ?? 0, ...(process.getgroups?.() ?? [])])
}

async function openUnfollowed(path: string): Promise<FileHandle> {
  try {
    return await open(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW)
  } catch (cause) {
    const code = codeOf(cause)
    if (code !== 'ELOOP' && code !== 'ENOTDIR' && code !== 'EACCES') throw cause
    const info = await lstat(path)
    if (info.isSymbolicLink()) {
      throw unsafe(`${path} is a symbolic link to ${await readlink(path)}; remove it, or name the directory itself`, cause)
    }
    if (!info.isDirectory()) throw unsafe(`${path} is not a directory; remove it`, cause)
    checkOurs(path, info)
    throw cause
  }
}

function checkOurs(path: string, { uid }: Stats): void {
  const self = effectiveUser()
  if (uid === self) return
  throw unsafe(`${path} belongs to user ${uid}, and this process runs as user ${self}; remove it, or run as its owner`)
}

/** Closes a directory to others. The handle, and not the path, says which. */
async function takeFor(path: string, handle: FileHandle): Promise<void> {
  const before = await handle.stat()
  checkOurs(path, before)
  if ((before.mode & PERMISSIONS) === PRIVATE) return
  await handle.chmod(PRIVATE)
  const isUnchanged = ((await handle.stat()).mode & PERMISSIONS) !== PRIVATE
  if (isUnchanged) throw unsafe(`${path} keeps mode ${modeText(before)}: its file system has no permissions; use another one`)
  if ((before.mode & (OTHERS_WRITE | GROUP_WRITES)) === 0) return
  if ((await readdir(`/proc/self/fd/${handle.fd}`)).length === 0) return
  // As it was: the next start must not take it for one that was always closed.
  await handle.chmod(before.mode & (PERMISSIONS | STICKY))
  const remedy = `check the files in it and chmod 700 ${path}, or remove it`
  throw unsafe(`${path} can be written by others (mode ${modeText(before)}) and is not empty; ${remedy}`)
}

function modeText({ mode }: Stats): string {
  return (mode & (PERMISSIONS | STICKY)).toString(8)
}

function unsafe(message: string, cause?: unknown): CoreError {
  return new CoreError('CORE_UNSAFE_DIRECTORY', message, cause === undefined ? {} : { cause })
}
