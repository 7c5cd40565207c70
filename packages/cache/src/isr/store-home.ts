import { mkdir, open, readdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { messageOf } from '@svc/core'
import { probeStore } from './damage-probe.ts'
import { type Databases, openDatabases } from './databases.ts'
import { isInUse, judgeSeal, sealInUse } from './store-seal.ts'

/** Damaged stores that are kept for who wants to look into them. */
const KEPT_DAMAGED = 2
/** What must be writable before lmdb may run: on a full disk it does not fail but crashes. */
const NEEDED_BYTES = 256 << 10
/** lmdb's lock file, with room for all its readers: a hole in it would crash a reader once the disk is full. */
const LOCK_BYTES = 72 << 10

/** A store that was opened, or why there is none; and what happened on the way. */
export interface OpenedHome {
  readonly databases: Databases | undefined
  /** Why the store could not be opened. */
  readonly problem: string | undefined
  /** What was found damaged, and where it went. */
  readonly damage: string | undefined
}

/** Opens the store of an instance as its owner: what is damaged or foreign is moved aside, and a new store begun. Never throws. */
export async function openHome(cacheDir: string, mapBytes: number): Promise<OpenedHome> {
  const dir = join(cacheDir, 'isr')
  let damage: string | undefined
  try {
    await requireRoom(cacheDir)
    const reason = await damageOf(dir)
    if (reason !== undefined) damage = await moveAside(cacheDir, reason)
    const databases = await begin(dir, mapBytes).catch(async (error: unknown) => {
      damage = await moveAside(cacheDir, messageOf(error))
      return begin(dir, mapBytes)
    })
    return { databases, problem: undefined, damage }
  } catch (error) {
    return { databases: undefined, problem: messageOf(error), damage }
  }
}

/** Opens the store that another process of the instance owns. Never throws. */
export async function joinHome(cacheDir: string, mapBytes: number): Promise<OpenedHome> {
  const dir = join(cacheDir, 'isr')
  try {
    if (!(await isInUse(dir))) return { databases: undefined, problem: 'the store is not open', damage: undefined }
    return { databases: await openDatabases(dir, mapBytes), problem: undefined, damage: undefined }
  } catch (error) {
    return { databases: undefined, problem: messageOf(error), damage: undefined }
  }
}

async function damageOf(dir: string): Promise<string | undefined> {
  const verdict = await judgeSeal(dir)
  if (verdict.kind === 'damaged') return verdict.reason
  return verdict.kind === 'doubtful' ? probeStore(dir) : undefined
}

async function begin(dir: string, mapBytes: number): Promise<Databases> {
  await mkdir(dir, { recursive: true })
  await sealInUse(dir)
  const lock = join(dir, 'lock.mdb')
  if ((await stat(lock).catch(() => undefined)) === undefined) await writeFile(lock, Buffer.alloc(LOCK_BYTES))
  return openDatabases(dir, mapBytes)
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
async function moveAside(cacheDir: string, reason: string): Promise<string> {
  const names = await readdir(cacheDir)
  const numbers = names.flatMap((name) => /^isr\.damaged-(\d+)$/.exec(name)?.[1] ?? []).map(Number)
  numbers.sort((a, b) => a - b)
  const target = `isr.damaged-${(numbers.at(-1) ?? 0) + 1}`
  if (names.includes('isr')) await rename(join(cacheDir, 'isr'), join(cacheDir, target))
  for (const number of numbers.slice(0, Math.max(0, numbers.length + 1 - KEPT_DAMAGED))) {
    await rm(join(cacheDir, `isr.damaged-${number}`), { recursive: true, force: true })
  }
  return `${reason}; moved to ${target}`
}
