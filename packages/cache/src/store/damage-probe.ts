import { execFile } from 'node:child_process'

/** Time limit of the check of contents; entries not reached by then pass. */
const LOOK_FOR_MS = 1_000
/** A probe that has not ended by then goes in circles. */
const KILL_AFTER_MS = 15_000

/**
 * Reads a whole store in a process of its own, since lmdb may crash on a damaged file. Resolves with a description of the damage;
 * undefined: nothing.
 */
export function probeStore(dir: string): Promise<string | undefined> {
  const source = `await (${walkStore.toString()})(...process.argv.slice(1))`
  const args = ['--input-type=module', '--eval', source, import.meta.resolve('lmdb'), dir, String(LOOK_FOR_MS)]
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      args,
      { timeout: KILL_AFTER_MS, killSignal: 'SIGKILL', env: { ...process.env, NODE_OPTIONS: '' } },
      (error, output) => {
        if (error === null) resolve(undefined)
        else resolve(output.trim() || `reading it failed with ${error.signal ?? `code ${error.code}`}`)
      },
    )
  })
}

/** The program of the probe: it stands alone, since only its text is handed over. Prints the damage and exits with 1. */
async function walkStore(lmdbUrl: string, dir: string, lookForMs: string): Promise<void> {
  const { open, ABORT } = (await import(lmdbUrl)) as typeof import('lmdb')
  const { crc32 } = await import('node:zlib')
  const endsAt = Date.now() + Number(lookForMs)
  const binary = { keyEncoding: 'binary', encoding: 'binary' } as const
  const fail = (reason: string): never => {
    process.stdout.write(reason, () => process.exit(1))
    throw new Error(reason)
  }
  try {
    const root = open<Buffer, Buffer>({ path: dir, ...binary, noSubdir: false, noSync: true, maxDbs: 12, maxReaders: 1024 })
    const heads = root.openDB<Buffer, Buffer>({ name: 'heads', ...binary })
    const records = root.openDB<Buffer, Buffer>({ name: 'records', ...binary })
    const counters = root.openDB<Buffer, Buffer>({ name: 'counters', ...binary })
    // Structure first: the trees that are small, then the list of free pages, by writing what is not kept.
    const index = root.openDB<Buffer, Buffer>({ name: 'index', ...binary, dupSort: true })
    for (const _ of index.getRange({})) if (Date.now() > endsAt) break
    for (const name of ['schedule', 'variances', 'garbage']) {
      for (const _ of root.openDB<Buffer, Buffer>({ name, ...binary }).getRange({})) if (Date.now() > endsAt) break
    }
    root.transactionSync(() => {
      for (let i = 0; i < 16; i++) records.putSync(Buffer.from(`probe-${i}`), Buffer.alloc(40_000))
      return ABORT
    })
    let alive = 0
    let isWhole = true
    for (const { key, value } of heads.getRange({})) {
      if ((value.readUInt8(0) & 1) === 0) alive++
      isWhole = Date.now() < endsAt
      if (!isWhole) break
      const record = records.getBinary(Buffer.from(key))
      if (record === undefined || record.length !== value.readUInt32LE(32)) fail('the record of an entry is missing or truncated')
      else if (crc32(record) !== value.readUInt32LE(4)) fail('the checksum of an entry is wrong')
    }
    const counted = counters.getBinary(Buffer.from('counts'))?.readDoubleLE(0) ?? 0
    if (isWhole && counted !== alive) fail(`it counts ${counted} entries but has ${alive}`)
  } catch (error) {
    fail(error instanceof Error ? error.message : String(error))
  }
  // Without closing: nothing is kept, and a damaged file may crash lmdb even then.
  process.exit(0)
}
