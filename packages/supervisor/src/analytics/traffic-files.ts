import { appendFile, mkdir, readdir, stat, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { codeOf, messageOf, replaceFile, targetOfPartial } from '@svc/core'
import { blockOf, readBlocks } from './traffic-blocks.ts'

export const HOUR_MS = 3_600_000
export const DAY_MS = 24 * HOUR_MS
const MIB = 1024 * 1024

/**
 * Kinds of files by the time that one file covers. `minutes` and `tops` have blocks for each minute of an hour; `hours` and `days` have the
 * sum of theirs.
 */
const kinds = {
  minutes: { fileMs: HOUR_MS, keepMs: 7 * DAY_MS, maxBytes: 512 * MIB },
  /** The top names of minutes. */
  tops: { fileMs: HOUR_MS, keepMs: 2 * HOUR_MS, maxBytes: 192 * MIB },
  /** With top names. */
  hours: { fileMs: HOUR_MS, keepMs: 8 * DAY_MS, maxBytes: 192 * MIB },
  days: { fileMs: DAY_MS, keepMs: 91 * DAY_MS, maxBytes: 96 * MIB },
} as const
export type FileKind = keyof typeof kinds

function isFileKind(name: string): name is FileKind {
  return Object.hasOwn(kinds, name)
}

/** Bounds of the files of a kind, which tests make smaller. */
export type MaxBytes = Readonly<Record<FileKind, number>>

const usualMaxBytes: MaxBytes = {
  minutes: kinds.minutes.maxBytes,
  tops: kinds.tops.maxBytes,
  hours: kinds.hours.maxBytes,
  days: kinds.days.maxBytes,
}

/** Dependencies of `TrafficFiles`. */
interface TrafficFilesOptions {
  /** Created if it is missing. */
  readonly dir: string
  readonly now: () => number
  readonly warn: (error: unknown, text: string) => void
  readonly maxBytes?: MaxBytes | undefined
}

const NAME = /^(minutes|tops|hours|days)-(\d{4})(\d\d)(\d\d)(\d\d)\.traffic$/

interface FileKey {
  readonly kind: FileKind
  /** Beginning of the time that it covers. */
  readonly at: number
}

function nameOf({ kind, at }: FileKey): string {
  return `${kind}-${new Date(at).toISOString().slice(0, 13).replaceAll(/[-T]/g, '')}.traffic`
}

function keyOf(name: string): FileKey | undefined {
  const [, kind = '', year, month, day, hour] = NAME.exec(name) ?? []
  if (!isFileKind(kind)) return undefined
  const at = Date.UTC(Number(year), Number(month) - 1, Number(day), Number(hour))
  return at % kinds[kind].fileMs === 0 ? { kind, at } : undefined
}

/**
 * The files of analytics: one directory, bounded by age and bytes, the oldest deleted first. Damaged traffic is left out, and
 * traffic that cannot be written is lost, each with one warning. Calls must come one after the other.
 */
export class TrafficFiles {
  readonly #options: TrafficFilesOptions
  /** Bytes of the files of each kind by their time, in that order. */
  readonly #sizes: Readonly<Record<FileKind, Map<number, number>>> = {
    minutes: new Map(),
    tops: new Map(),
    hours: new Map(),
    days: new Map(),
  }
  /** Damaged files that were reported. */
  readonly #reported = new Set<string>()
  /** Kinds whose files could not be written, and were reported. */
  readonly #unwritable = new Set<FileKind>()

  constructor(options: TrafficFilesOptions) {
    this.#options = options
  }

  /** Finds the files that there are. Never rejects: without a readable directory there are none. */
  async open(): Promise<void> {
    const { dir, warn } = this.#options
    try {
      await mkdir(dir, { recursive: true, mode: 0o700 })
      for (const name of (await readdir(dir)).sort()) await this.#find(name)
    } catch (error) {
      warn(error, `analytics are not kept: directory ${dir} cannot be used: ${messageOf(error)}`)
    }
  }

  /** Beginnings of the times that files of a kind cover, ascending. */
  times(kind: FileKind): number[] {
    return [...this.#sizes[kind].keys()].sort((one, other) => one - other)
  }

  /** Bytes of all files of a kind. */
  bytes(kind: FileKind): number {
    return [...this.#sizes[kind].values()].reduce((sum, bytes) => sum + bytes, 0)
  }

  /** Adds blocks of traffic at a time. */
  async append(kind: 'minutes' | 'tops', at: number, payloads: readonly Buffer[]): Promise<void> {
    const fileAt = at - (at % kinds[kind].fileMs)
    const bytes = Buffer.concat(payloads.map((payload) => blockOf(at, payload)))
    await this.#write(kind, fileAt, bytes, (path) => appendFile(path, bytes, { mode: 0o600 }))
  }

  /** Writes a sum. A crash leaves the whole file or none. */
  async put(kind: 'hours' | 'days', at: number, payloads: readonly Buffer[]): Promise<void> {
    const bytes = Buffer.concat(payloads.map((payload) => blockOf(at, payload)))
    await this.#write(kind, at, bytes, (path) => replaceFile(path, bytes))
  }

  /**
   * Shows the blocks of a range of time, which must begin and end with a unit of the kind.
   * @throws never: damaged blocks and files that cannot be read are left out
   */
  async read(kind: FileKind, fromMs: number, toMs: number, visit: (at: number, payload: Buffer) => void): Promise<void> {
    for (const at of this.times(kind)) {
      if (at + kinds[kind].fileMs <= fromMs || at >= toMs) continue
      const path = this.#path({ kind, at })
      try {
        const damagedBytes = await readBlocks(path, (blockAt, payload) => {
          if (blockAt >= fromMs && blockAt < toMs) visit(blockAt, payload)
        })
        if (damagedBytes > 0) this.#report(path, undefined, `${damagedBytes} damaged bytes were left out`)
      } catch (error) {
        this.#report(path, error, messageOf(error))
      }
    }
  }

  /** Deletes files that are too old. */
  async expire(): Promise<void> {
    const now = this.#options.now()
    for (const kind of Object.keys(kinds) as FileKind[])
      for (const at of this.times(kind)) if (at + kinds[kind].fileMs + kinds[kind].keepMs <= now) await this.#delete({ kind, at })
  }

  async #write(kind: FileKind, at: number, bytes: Buffer, write: (path: string) => Promise<void>): Promise<void> {
    if (bytes.byteLength === 0) return
    const path = this.#path({ kind, at })
    try {
      if (!(await this.#makeRoom({ kind, at }, bytes.byteLength))) {
        this.#writeFailed({ kind, at }, undefined, 'analytics of all sites together take more than their share of the disk')
        return
      }
      await write(path)
      this.#sizes[kind].set(at, (await stat(path)).size)
      this.#unwritable.delete(kind)
    } catch (error) {
      this.#writeFailed({ kind, at }, error, messageOf(error))
    }
  }

  /** Deletes the oldest files until there is room. False: there is none even so. */
  async #makeRoom({ kind, at }: FileKey, bytes: number): Promise<boolean> {
    const maxBytes = (this.#options.maxBytes ?? usualMaxBytes)[kind]
    for (const oldest of this.times(kind)) {
      if (this.bytes(kind) + bytes <= maxBytes || oldest >= at) break
      await this.#delete({ kind, at: oldest })
    }
    return this.bytes(kind) + bytes <= maxBytes
  }

  async #delete(key: FileKey): Promise<void> {
    const path = this.#path(key)
    try {
      await unlink(path)
    } catch (error) {
      if (codeOf(error) !== 'ENOENT') {
        this.#report(path, error, messageOf(error))
        return
      }
    }
    this.#sizes[key.kind].delete(key.at)
    this.#reported.delete(path)
  }

  async #find(name: string): Promise<void> {
    const path = join(this.#options.dir, name)
    if (targetOfPartial(name) !== undefined) await unlink(path)
    const key = keyOf(name)
    if (key === undefined) return
    const stats = await stat(path)
    if (stats.isFile()) this.#sizes[key.kind].set(key.at, stats.size)
  }

  #path(key: FileKey): string {
    return join(this.#options.dir, nameOf(key))
  }

  #report(path: string, error: unknown, why: string): void {
    if (this.#reported.has(path)) return
    this.#reported.add(path)
    this.#options.warn(error, `a part of the analytics is lost: ${path}: ${why}`)
  }

  #writeFailed(key: FileKey, error: unknown, why: string): void {
    if (this.#unwritable.has(key.kind)) return
    this.#unwritable.add(key.kind)
    this.#options.warn(error, `failed to write analytics to ${this.#path(key)}: ${why}`)
  }
}
