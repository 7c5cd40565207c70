import { open, readFile, stat } from 'node:fs/promises'
import { arch, endianness } from 'node:os'
import { join } from 'node:path'
import { replaceFile } from '@svc/core'

/** Raised whenever the format of the databases changes, or lmdb's file format: stores of another format are not read. */
const FORMAT = 5

/** State of a store that can be read without opening it. */
interface Seal {
  readonly format: number
  readonly arch: string
  readonly endianness: string
  /** The boot of the machine in which it was used last; "" where the system has no such thing. */
  readonly bootId: string
  /** The data file as its last owner left it; null while it is in use. */
  readonly left: DataFile | null
  /** True if all that was written has reached the disk. */
  readonly isSynced: boolean
}

interface DataFile {
  readonly bytes: number
  readonly mtimeMs: number
}

/** The verdict of the seal on a store: there is none, it may be used, it must be checked first, or it must not be used. */
type SealVerdict =
  | { readonly kind: 'empty' }
  | { readonly kind: 'sound' }
  | { readonly kind: 'doubtful' }
  | { readonly kind: 'damaged'; readonly reason: string }

export const DATA_FILE = 'data.mdb'
const SEAL_FILE = 'store.json'
/** Left by a process that met damage while the store was in use. */
const DAMAGE_FILE = 'damaged'

/** Judges the store in a directory. */
export async function judgeSeal(dir: string): Promise<SealVerdict> {
  const data = await statData(dir)
  if (data === 'strange') return { kind: 'damaged', reason: 'its data file is not a regular file' }
  // Nothing was ever committed: lmdb begins with both its heads.
  if (data === undefined || data.bytes === 0) return { kind: 'empty' }
  if ((await stat(join(dir, DAMAGE_FILE)).catch(() => undefined)) !== undefined) {
    return { kind: 'damaged', reason: 'it was damaged while in use' }
  }
  const seal = await readSeal(dir)
  if (seal === undefined) return { kind: 'damaged', reason: 'it has no readable seal' }
  const foreign = foreignness(seal)
  if (foreign !== undefined) return { kind: 'damaged', reason: foreign }
  const isSameBoot = seal.bootId === (await bootId())
  if (!isSameBoot && !seal.isSynced) return { kind: 'damaged', reason: 'the machine stopped while the store was in use' }
  const isAsLeft = seal.left !== null && seal.left.bytes === data.bytes && seal.left.mtimeMs === data.mtimeMs
  return { kind: isAsLeft ? 'sound' : 'doubtful' }
}

/** True if another process of this instance has opened the store and uses this form. */
export async function isInUse(dir: string): Promise<boolean> {
  const seal = await readSeal(dir)
  return seal !== undefined && foreignness(seal) === undefined && seal.left === null
}

/** Notes that the store is in use from now on. */
export async function sealInUse(dir: string): Promise<void> {
  await writeSeal(dir, { left: null, isSynced: false })
}

/** Notes how the data file is left, so that the next owner can trust it; then again once it is on the disk. */
export async function sealLeft(dir: string): Promise<void> {
  const left = await statData(dir)
  if (left === undefined || left === 'strange') return
  await writeSeal(dir, { left, isSynced: false })
  const file = await open(join(dir, DATA_FILE), 'r')
  try {
    await file.datasync()
  } finally {
    await file.close()
  }
  await writeSeal(dir, { left, isSynced: true })
}

/** Leaves word that the store is damaged: its next owner moves it aside. */
export async function noteDamage(dir: string, reason: string): Promise<void> {
  await replaceFile(join(dir, DAMAGE_FILE), `${reason}\n`, true)
}

/** Tells a store from another one that has its place. */
export type StoreIdentity = bigint

/** Undefined: there is no store in the directory. */
export async function identityOf(dir: string): Promise<StoreIdentity | undefined> {
  return (await stat(join(dir, DATA_FILE), { bigint: true }).catch(() => undefined))?.ino
}

/** Describes the damage to the files of a store in use; undefined: none detected. */
export async function troubleOf(dir: string, identity: StoreIdentity | undefined): Promise<string | undefined> {
  const [found, damage] = await Promise.all([identityOf(dir), stat(join(dir, DAMAGE_FILE)).catch(() => undefined)])
  if (found === undefined || found !== identity)
    return 'its files were deleted while it was in use; restart to create a new store'
  return damage === undefined ? undefined : 'it was damaged while in use; restart to create a new store'
}

async function statData(dir: string): Promise<DataFile | 'strange' | undefined> {
  const info = await stat(join(dir, DATA_FILE)).catch(() => undefined)
  if (info === undefined) return undefined
  return info.isFile() ? { bytes: info.size, mtimeMs: info.mtimeMs } : 'strange'
}

function foreignness(seal: Seal): string | undefined {
  if (seal.format !== FORMAT) return 'its format is not the one this version uses'
  return seal.arch === arch() && seal.endianness === endianness()
    ? undefined
    : 'it was created on a machine with another architecture'
}

async function readSeal(dir: string): Promise<Seal | undefined> {
  try {
    const seal: unknown = JSON.parse(await readFile(join(dir, SEAL_FILE), 'utf8'))
    return isSeal(seal) ? seal : undefined
  } catch {
    // Missing, or not ours: the same for the caller.
    return undefined
  }
}

function isSeal(value: unknown): value is Seal {
  if (typeof value !== 'object' || value === null) return false
  const seal = value as Partial<Record<keyof Seal, unknown>>
  const isTyped = typeof seal.format === 'number' && typeof seal.bootId === 'string' && typeof seal.isSynced === 'boolean'
  return isTyped && (seal.left === null || typeof seal.left === 'object')
}

async function writeSeal(dir: string, state: Pick<Seal, 'left' | 'isSynced'>): Promise<void> {
  const seal: Seal = { format: FORMAT, arch: arch(), endianness: endianness(), bootId: await bootId(), ...state }
  await replaceFile(join(dir, SEAL_FILE), `${JSON.stringify(seal)}\n`, true)
}

/** Id of the running boot of the machine: within it, writes of a killed process survive, synced or not. */
async function bootId(): Promise<string> {
  return (await readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => '')).trim()
}
