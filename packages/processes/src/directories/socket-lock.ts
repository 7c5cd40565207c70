import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { constants, link, open, readdir, rm } from 'node:fs/promises'
import { createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { codeOf } from '@svc/core'
import { isServed } from './unix-socket.ts'

/**
 * Takes a lock in a private directory: `<name>.lock.<n>`, a socket that its holder listens on. The highest number counts; once
 * nothing listens on it, however its process has ended, the next number is free. A name is linked atomically, to a socket that
 * already has a listener, and the highest is never deleted: so two processes cannot take the same free number.
 *
 * Resolves with a server that holds the lock until it is closed; undefined: another process holds the lock.
 */
export async function takeLock(dir: string, name: string): Promise<Server | undefined> {
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
