import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { constants, link, open, readdir, realpath, rm } from 'node:fs/promises'
import { createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { OWN_NAME, socketDirectory } from '@svc/config'
import { codeOf, messageOf } from '@svc/core'
import { SupervisorError } from '../errors/errors.ts'
import { makePrivateDirectory } from './directories.ts'
import { isServed } from './unix-socket.ts'

/** Purpose of a lock: one directory may serve several purposes of one instance. */
type DirectoryUse = 'run' | 'state' | 'cache'

/**
 * Locks a directory. The holder releases the lock by closing it, and the kernel does when the process ends in any way.
 * Undefined: another process holds it.
 * @throws SUP_DIRECTORY if no socket can be made in it
 */
export function holdDirectory(use: DirectoryUse, dir: string): Promise<Server | undefined> {
  return hold(dir, use)
}

/** Takes the lock of a site's unit, as `holdDirectory` does for a directory. */
export function holdSite(runDir: string, site: string): Promise<Server | undefined> {
  return hold(runDir, `site-${createHash('sha256').update(site).digest('hex').slice(0, 16)}`)
}

async function hold(dir: string, name: string): Promise<Server | undefined> {
  try {
    const place = await lockPlace(dir, name)
    return await takeLock(place.dir, place.name)
  } catch (error) {
    const message = `cannot use ${dir}: failed to create a lock in it: ${messageOf(error)}`
    throw new SupervisorError('SUP_DIRECTORY', message, { cause: error })
  }
}

/** Returns the place of a directory's lock: the directory itself, except below `.svc`, which may hold no socket. */
async function lockPlace(dir: string, name: string): Promise<{ dir: string; name: string }> {
  const names = (await realpath(dir)).split('/')
  const own = names.indexOf(OWN_NAME)
  if (own < 0) return { dir, name }
  const place = socketDirectory(names.slice(0, own + 1).join('/'), process.getuid?.() ?? 0)
  await makePrivateDirectory(place)
  const digest = createHash('sha256').update(names.join('/')).digest('hex').slice(0, 16)
  return { dir: place, name: `${name}-${digest}` }
}

/**
 * Locks a directory that two servers must not share: they would serve each other's pages, possibly of different sites, and miss
 * each other's purges. Returns a function that releases the lock.
 * @throws SUP_DIRECTORY_TAKEN, SUP_DIRECTORY
 */
export async function lockDirectory(use: 'state' | 'cache', dir: string, key: string): Promise<() => void> {
  const holder = await holdDirectory(use, dir)
  if (holder !== undefined) return () => holder.close()
  throw new SupervisorError('SUP_DIRECTORY_TAKEN', { directory: dir, key })
}

/**
 * Takes a lock in a private directory: `<name>.lock.<n>`, a socket that its holder listens on. The highest number counts; once
 * nothing listens on it, however its process has ended, the next number is free. A name is linked atomically, to a socket that
 * already has a listener, and the highest is never deleted: so two processes cannot take the same free number.
 *
 * Resolves with a server that holds the lock until it is closed; undefined: another process holds the lock.
 */
async function takeLock(dir: string, name: string): Promise<Server | undefined> {
  const directory = await open(dir, constants.O_RDONLY | constants.O_DIRECTORY)
  // The path of a socket is limited to 107 bytes, but that of the directory is not.
  const base = `/proc/self/fd/${directory.fd}`
  const temporary = join(base, `${name}.lock.new-${randomBytes(8).toString('hex')}`)
  const server = createServer((socket) => socket.destroy())
  server.unref()
  try {
    server.listen({ path: temporary })
    await once(server, 'listening')
    if (await claim(base, name, temporary)) return server
    server.close()
    return undefined
  } catch (error) {
    server.close()
    throw error
  } finally {
    await rm(temporary, { force: true })
    await directory.close()
  }
}

/** Gives the socket at `temporary` the next number. @returns true if it is the lock now */
async function claim(dir: string, name: string, temporary: string): Promise<boolean> {
  for (;;) {
    const highest = (await numbers(dir, name)).at(-1) ?? 0
    const pathOf = (number: number) => join(dir, `${name}.lock.${number}`)
    if (highest > 0 && (await isServed(pathOf(highest)))) return false
    const own = highest + 1
    try {
      await link(temporary, pathOf(own))
    } catch (error) {
      if (codeOf(error) === 'EEXIST') continue
      throw error
    }
    const others = (await numbers(dir, name)).filter((number) => number !== own)
    const isHighest = others.every((number) => number < own)
    await Promise.all((isHighest ? others : [own]).map((number) => rm(pathOf(number), { force: true })))
    if (isHighest) return true
  }
}

/** Returns the existing numbers in ascending order. */
async function numbers(dir: string, name: string): Promise<number[]> {
  const prefix = `${name}.lock.`
  const found = (await readdir(dir)).filter((file) => file.startsWith(prefix)).map((file) => file.slice(prefix.length))
  return found
    .filter((text) => /^[1-9]\d{0,14}$/.test(text))
    .map(Number)
    .sort((one, other) => one - other)
}
