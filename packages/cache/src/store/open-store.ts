import { mkdir, open, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { messageOf } from '@svc/core'
import { isDigits } from '@svc/http'
import { probeStore } from './damage-probe.ts'
import { type Databases, GATE_DIR, openDatabases } from './databases.ts'
import { fileBytesFor, mapBytesFor } from './space.ts'
import { DATA_FILE, isInUse, judgeSeal, sealInUse } from './store-seal.ts'

/** Number of damaged stores that are kept for inspection. */
const KEPT_DAMAGED = 2
/** Bytes that must be writable before lmdb may run: on a full disk it does not fail but crashes. */
const NEEDED_BYTES = 256 << 10
/** lmdb's lock file, with room for all its readers: a hole in it would crash a reader once the disk is full. */
const LOCK_BYTES = 72 << 10
/** Stands in both heads of an lmdb file, which are a page apart. */
const LMDB_MAGIC = Buffer.from([0xde, 0xc0, 0xef, 0xbe])

/** A file that is larger than this is not kept: a busy store may outgrow its bound by less. */
const outgrownBytes = (maxFileBytes: number) => 1.5 * maxFileBytes + (32 << 20)

/** Location of a store: the directory of its name below `cacheDir`. */
export interface StorePlace {
  readonly cacheDir: string
  readonly name: string
}

/** Bodies beside the databases, each in a file of its own. */
export const BODIES_DIR = 'bodies'

/** A store that was opened, or why there is none; and damage found on the way. */
export interface OpenedHome {
  readonly databases: Databases | undefined
  /** Why the store could not be opened. */
  readonly problem: string | undefined
  /** The damage found, and where the damaged files were moved. */
  readonly damage: string | undefined
}

/** Opens the store of an instance as its owner: a damaged or foreign store is moved aside, and a new one created. Never throws. */
export async function openHome({ cacheDir, name }: StorePlace, maxBytes: number): Promise<OpenedHome> {
  const dir = join(cacheDir, name)
  const mapBytes = mapBytesFor(maxBytes)
  let damage: string | undefined
  try {
    await requireRoom(cacheDir)
    damage = await dropOutgrown(dir, fileBytesFor(maxBytes))
    const reason = await damageOf(dir)
    if (reason !== undefined) damage = await moveAside(cacheDir, name, reason)
    const databases = await begin(dir, mapBytes).catch(async (error: unknown) => {
      damage = await moveAside(cacheDir, name, messageOf(error))
      return begin(dir, mapBytes)
    })
    return { databases, problem: undefined, damage }
  } catch (error) {
    return { databases: undefined, problem: messageOf(error), damage }
  }
}

/** Opens the store that another process of the instance owns. Never throws. */
export async function joinHome({ cacheDir, name }: StorePlace, maxBytes: number): Promise<OpenedHome> {
  const dir = join(cacheDir, name)
  try {
    if (!(await isInUse(dir))) return { databases: undefined, problem: 'the store is not open', damage: undefined }
    return { databases: await openDatabases(dir, mapBytesFor(maxBytes)), problem: undefined, damage: undefined }
  } catch (error) {
    return { databases: undefined, problem: messageOf(error), damage: undefined }
  }
}

/** A file does not shrink: after its bound was lowered only a new one keeps to it. */
async function dropOutgrown(dir: string, maxFileBytes: number): Promise<string | undefined> {
  const { size } = (await stat(join(dir, DATA_FILE)).catch(() => undefined)) ?? { size: 0 }
  if (size <= outgrownBytes(maxFileBytes)) return undefined
  await rm(dir, { recursive: true, force: true })
  return 'its file was larger than the settings allow; deleted'
}

async function damageOf(dir: string): Promise<string | undefined> {
  const verdict = await judgeSeal(dir)
  if (verdict.kind === 'damaged') return verdict.reason
  return verdict.kind === 'doubtful' ? probeStore(dir) : undefined
}

async function begin(dir: string, mapBytes: number): Promise<Databases> {
  await mkdir(dir, { recursive: true })
  await sealInUse(dir)
  await prepareGate(join(dir, GATE_DIR))
  await allocateLock(dir)
  return openDatabases(dir, mapBytes)
}

/** The gate holds no data: a gate that lmdb did not write would crash the process that opens it, so it is recreated. */
async function prepareGate(dir: string): Promise<void> {
  const data = await readFile(join(dir, DATA_FILE)).catch(() => undefined)
  const isWhole =
    data !== undefined && data.byteLength >= 8192 && data.indexOf(LMDB_MAGIC) === data.lastIndexOf(LMDB_MAGIC) - 4096
  if (!isWhole) await rm(dir, { recursive: true, force: true })
  await mkdir(dir, { recursive: true })
  await allocateLock(dir)
}

async function allocateLock(dir: string): Promise<void> {
  const lock = join(dir, 'lock.mdb')
  if ((await stat(lock).catch(() => undefined)) === undefined) await writeFile(lock, Buffer.alloc(LOCK_BYTES))
}

async function requireRoom(cacheDir: string): Promise<void> {
  await mkdir(cacheDir, { recursive: true })
  const path = join(cacheDir, `.room-${process.pid}`)
  try {
    const file = await open(path, 'w')
    try {
      await file.writeFile(Buffer.alloc(NEEDED_BYTES, 1))
    } finally {
      await file.close()
    }
  } finally {
    await rm(path, { force: true })
  }
}

/** Renames the store to the next free number, and deletes all but the last two that were moved aside. */
async function moveAside(cacheDir: string, name: string, reason: string): Promise<string> {
  const names = await readdir(cacheDir)
  const prefix = `${name}.damaged-`
  const aside = names.filter((one) => one.startsWith(prefix) && isDigits(one.slice(prefix.length)))
  const numbers = aside.map((one) => Number(one.slice(prefix.length)))
  numbers.sort((a, b) => a - b)
  const target = `${prefix}${(numbers.at(-1) ?? 0) + 1}`
  if (names.includes(name)) await rename(join(cacheDir, name), join(cacheDir, target))
  // Without their entries they are unreachable, and they are large. The moved path may not be a directory at all.
  await rm(join(cacheDir, target, BODIES_DIR), { recursive: true, force: true }).catch(() => undefined)
  for (const number of numbers.slice(0, Math.max(0, numbers.length + 1 - KEPT_DAMAGED))) {
    await rm(join(cacheDir, `${prefix}${number}`), { recursive: true, force: true })
  }
  return `${reason}; moved to ${target}`
}
