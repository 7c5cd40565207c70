import { constants, createWriteStream } from 'node:fs'
import { type FileHandle, mkdir, open, opendir, readlink, symlink } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { codeOf } from '@svc/core'
import { fileMode, isInside, ONLY_USER } from './tree-rules.ts'

/** Each level holds a descriptor while it is copied. */
const MAX_DEPTH = 100
const OPEN_DIRECTORY = constants.O_DIRECTORY | constants.O_NOFOLLOW
const OPEN_FILE = constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY

/** Why a directory is not copied. */
class Refusal extends Error {}

interface CopyLimits {
  readonly maxBytes: number
  readonly maxFiles: number
}

/**
 * Copies a directory that others may change meanwhile: each entry is opened below the open directory that has it, and no link is
 * followed, so that nothing from elsewhere is copied.
 */
export class TreeCopy {
  readonly #root: string
  readonly #limits: CopyLimits
  #files = 0
  #bytes = 0

  /** @param root absolute path of the copy, which exists and is empty */
  constructor(root: string, limits: CopyLimits) {
    this.#root = root
    this.#limits = limits
  }

  /** Resolves with why the directory is refused: then some of it may be there. The caller closes the handle. */
  async run(source: Pick<FileHandle, 'fd'>): Promise<string | undefined> {
    try {
      await this.#directory(source.fd, '', 0)
      return undefined
    } catch (error) {
      if (error instanceof Refusal) return error.message
      throw error
    }
  }

  async #directory(fd: number, path: string, depth: number): Promise<void> {
    if (depth > MAX_DEPTH) throw new Refusal(`${shown(path)} lies more than ${MAX_DEPTH} directories deep`)
    const { maxFiles } = this.#limits
    for await (const { name } of await opendir(`/proc/self/fd/${fd}`)) {
      if (++this.#files > maxFiles) throw new Refusal(`there are more than ${maxFiles} entries`)
      await this.#entry(`/proc/self/fd/${fd}/${name}`, join(path, name), depth)
    }
  }

  /** @param from its name below the open directory */
  async #entry(from: string, path: string, depth: number): Promise<void> {
    const opened = await openEntry(from, path)
    if (opened === 'link') return this.#link(from, path)
    try {
      const info = await opened.stat()
      const copy = join(this.#root, path)
      if (info.isDirectory()) {
        await mkdir(copy, { mode: ONLY_USER })
        await this.#directory(opened.fd, path, depth + 1)
      } else if (info.isFile()) await this.#file(opened, path, fileMode(info.mode))
      else throw new Refusal(`${shown(path)} is neither a file, a directory nor a link`)
    } finally {
      await opened.close()
    }
  }

  async #file(file: FileHandle, path: string, mode: number): Promise<void> {
    const count = async function* (this: TreeCopy, chunks: AsyncIterable<Buffer>) {
      for await (const chunk of chunks) {
        this.#bytes += chunk.byteLength
        if (this.#bytes > this.#limits.maxBytes)
          throw new Refusal(`the files have more than ${this.#limits.maxBytes} bytes (deploy.max_bytes)`)
        yield chunk
      }
    }
    const copy = createWriteStream(join(this.#root, path), { flags: 'wx', mode })
    await pipeline(file.createReadStream({ autoClose: false }), count.bind(this), copy)
  }

  async #link(from: string, path: string): Promise<void> {
    const target = await readlink(from)
    const isWithin = !target.startsWith('/') && isInside(resolve(this.#root, dirname(path), target), this.#root)
    if (!isWithin) throw new Refusal(`${shown(path)} is a link that leaves the directory`)
    await symlink(target, join(this.#root, path))
  }
}

async function openEntry(from: string, path: string): Promise<FileHandle | 'link'> {
  const flags = { directory: OPEN_DIRECTORY, file: OPEN_FILE }
  try {
    return await open(from, flags.directory)
  } catch (error) {
    if (codeOf(error) !== 'ENOTDIR' && codeOf(error) !== 'ELOOP') throw error
  }
  try {
    return await open(from, flags.file)
  } catch (error) {
    if (codeOf(error) === 'ELOOP') return 'link'
    // Sockets, and devices without a driver.
    if (codeOf(error) === 'ENXIO' || codeOf(error) === 'ENODEV')
      throw new Refusal(`${shown(path)} is neither a file, a directory nor a link`)
    throw error
  }
}

function shown(path: string): string {
  return JSON.stringify(path.slice(0, 200))
}
