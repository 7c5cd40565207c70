import { randomBytes } from 'node:crypto'
import { rmSync } from 'node:fs'
import { type FileHandle, mkdir, open, readdir, rename, rm, stat, unlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { asError } from '@svc/core'
import type { BodyFile } from '@svc/http'
import type { BodyFileRef } from '../entries/entry.ts'
import type { EntryFiles } from '../store/databases.ts'
import { idOf } from '../store/index-keys.ts'
import { BODIES_DIR } from '../store/open-store.ts'

/** Directory of incomplete bodies. */
const INCOMING_DIR = 'incoming'
/** Directories that bodies are spread over, by the first characters of their names. */
const FAN_CHARS = 2
/** The id of the entry, and a number that tells it from other bodies of that entry. */
const NAME = /^[0-9a-f]{32}-[0-9a-f]{16}$/

/** A body on its way into the cache, in a file that no other process knows. */
export interface IncomingBody extends BodyFile {
  /** Writes behind the others; false: there is more on its way than may be. Nothing more can be written then, or where it rejects. */
  write(bytes: Uint8Array, at: number): Promise<boolean>
  /** Gives the file its place, under a name that tells which entry it is of. Rejects when that cannot be done. */
  commit(key: string): Promise<BodyFileRef>
  /** Deletes the file, if it was not committed, and closes its descriptors. Never rejects. */
  close(): Promise<void>
}

/** The bodies of one site that are on their way take at most this many times the room that is left for others. */
const OF_FREE_ROOM = 4

/**
 * Bytes of bodies that are on their way, of one process. They cannot be evicted: so the more there is of them, the less a site may have,
 * and there is always room for another one.
 */
class Room {
  readonly #maxBytes: number
  readonly #bytesOf = new Map<string, number>()
  #bytes = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** False: there is not so much room for this site. */
  take(label: string, bytes: number): boolean {
    const own = (this.#bytesOf.get(label) ?? 0) + bytes
    if (own > OF_FREE_ROOM * (this.#maxBytes - this.#bytes - bytes)) return false
    this.#bytesOf.set(label, own)
    this.#bytes += bytes
    return true
  }

  giveBack(label: string, bytes: number): void {
    const own = (this.#bytesOf.get(label) ?? 0) - bytes
    if (own > 0) this.#bytesOf.set(label, own)
    else this.#bytesOf.delete(label)
    this.#bytes -= bytes
  }
}

/** The files with bodies of the proxy cache: each belongs to one entry of the store, and goes with it. */
export class BodyFiles implements EntryFiles {
  readonly #dir: string
  readonly #onProblem: (error: Error) => void
  readonly #room: Room

  /**
   * @param dir directory of the store
   * @param maxIncomingBytes most bytes of bodies that this process has on their way
   */
  constructor(dir: string, maxIncomingBytes: number, onProblem: (error: Error) => void) {
    this.#dir = dir
    this.#onProblem = onProblem
    this.#room = new Room(maxIncomingBytes)
  }

  discard(names: readonly string[]): void {
    for (const name of names) unlink(this.#path(name)).catch((error: NodeJS.ErrnoException) => this.#unlinkFailed(error))
  }

  /** Opens the body of an entry; undefined: it is not there, or not whole. To be closed by the caller. */
  async open({ name, bytes }: BodyFileRef): Promise<FileHandle | undefined> {
    if (!NAME.test(name)) return undefined
    let file: FileHandle | undefined
    try {
      file = await open(this.#path(name), 'r')
      if ((await file.stat()).size === bytes) return file
    } catch {
      // Cleared away since the entry was read, or damaged: a miss.
    }
    await file?.close().catch(() => undefined)
    return undefined
  }

  /**
   * Begins a body. Rejects when no file can be made.
   * @param label of the site that it is stored for
   */
  async begin(label: string): Promise<IncomingBody> {
    const dir = join(this.#dir, INCOMING_DIR)
    const path = join(dir, `${process.pid}-${randomBytes(8).toString('hex')}`)
    const file = await open(path, 'wx+').catch(async (error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error
      await mkdir(dir, { recursive: true })
      return open(path, 'wx+')
    })
    return new OpenBody(file, { path, label, room: this.#room, placeOf: (name) => this.#path(name) })
  }

  /** Deletes the incomplete bodies of an earlier instance. Before any other process begins one. */
  clearIncoming(): void {
    try {
      rmSync(join(this.#dir, INCOMING_DIR), { recursive: true, force: true })
    } catch (error) {
      this.#onProblem(asError(error))
    }
  }

  /** Deletes bodies that processes which are gone have not brought to their end. Never rejects. */
  async sweepIncoming(): Promise<void> {
    const dir = join(this.#dir, INCOMING_DIR)
    for (const name of await readdir(dir).catch((): string[] => [])) {
      if (!isAlive(Number(name.split('-')[0]))) await rm(join(dir, name), { force: true }).catch(this.#onProblem)
    }
  }

  /**
   * Deletes files that belong to no entry: a process was killed between making the file and its entry. Those that were written
   * since `before` (wall clock, ms) are left alone: their entries may be on their way. Never rejects.
   */
  async sweep(before: number, isUsed: (name: string) => boolean): Promise<number> {
    const bodies = join(this.#dir, BODIES_DIR)
    let swept = 0
    for (const fan of await readdir(bodies).catch((): string[] => [])) {
      for (const name of await readdir(join(bodies, fan)).catch((): string[] => [])) {
        const path = join(bodies, fan, name)
        if (NAME.test(name) && isUsed(name)) continue
        if (((await stat(path).catch(() => undefined))?.mtimeMs ?? before) >= before) continue
        await rm(path, { force: true, recursive: true }).catch(this.#onProblem)
        swept++
      }
    }
    return swept
  }

  #unlinkFailed(error: NodeJS.ErrnoException): void {
    if (error.code !== 'ENOENT') this.#onProblem(error)
  }

  #path(name: string): string {
    return join(this.#dir, BODIES_DIR, name.slice(0, FAN_CHARS), name)
  }
}

interface OpenBodyOptions {
  readonly path: string
  readonly label: string
  readonly room: Room
  /** Final path of the body with this name. */
  readonly placeOf: (name: string) => string
}

class OpenBody implements IncomingBody {
  readonly #file: FileHandle
  readonly #options: OpenBodyOptions
  #bytes = 0
  #taken = 0
  #isCommitted = false

  constructor(file: FileHandle, options: OpenBodyOptions) {
    this.#file = file
    this.#options = options
  }

  async write(bytes: Uint8Array, at: number): Promise<boolean> {
    const { room, label } = this.#options
    if (!room.take(label, bytes.byteLength)) return false
    this.#taken += bytes.byteLength
    for (let done = 0; done < bytes.byteLength; ) {
      done += (await this.#file.write(bytes, done, bytes.byteLength - done, at + done)).bytesWritten
    }
    this.#bytes = at + bytes.byteLength
    return true
  }

  async read(into: Uint8Array, at: number): Promise<number> {
    return (await this.#file.read(into, 0, into.byteLength, at)).bytesRead
  }

  async commit(key: string): Promise<BodyFileRef> {
    const name = `${idOf(key).toString('hex')}-${randomBytes(8).toString('hex')}`
    const { path, placeOf } = this.#options
    const target = placeOf(name)
    await rename(path, target).catch(async (error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error
      await mkdir(dirname(target), { recursive: true })
      await rename(path, target)
    })
    this.#isCommitted = true
    this.#leaveRoom()
    return { name, bytes: this.#bytes }
  }

  async close(): Promise<void> {
    if (!this.#isCommitted) await unlink(this.#options.path).catch(() => undefined)
    await this.#file.close().catch(() => undefined)
    this.#leaveRoom()
  }

  #leaveRoom(): void {
    const { room, label } = this.#options
    room.giveBack(label, this.#taken)
    this.#taken = 0
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
