import { createHash } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { entryOf, printable } from '@svc/core'
import type { AuditPage, AuditQuery, AuditRecord } from '@svc/protocol'
import type { Logger } from '@svc/telemetry'
import { RecordFile } from './record-file.ts'

/** Bytes of the records of the operators, and of denied attempts: more than 10,000 each. */
const MAX_BYTES = 8 * 1024 * 1024
const MAX_DENIED_BYTES = 4 * 1024 * 1024
/** Bytes of the records of a tenant, or of the viewers: still more than a thousand. */
const MAX_AREA_BYTES = 1024 * 1024
/** Tenants with an area of their own. The others share one. */
const MAX_AREAS = 256
const SHARED_AREA = 'audit-limited.jsonl'
const AREA_NAME = /^audit-limited-[0-9a-f]{16}\.jsonl$/
/** Its denied records name users that anyone can make up. */
const LOGIN = 'POST /__svc/admin/api/login'
/** Records that one page reads at most: a filter that fits none must not read all files. */
const MAX_READ = 20_000
const MAX_CLOCK_STEP_MS = 3_600_000
/** Longest text of one field. */
const MAX_CHARS = 500

/** A record as it is stored. */
interface Stored extends AuditRecord {
  /** Place in the order of all records. */
  readonly seq: number
}

/** Dependencies of an `AuditLog`. */
interface AuditLogOptions {
  readonly stateDir: string
  readonly logger: Logger
  /** Wall clock: numbers continue above those of an earlier process. */
  readonly nowMs: number
  /** The area of a user who does not administer the whole instance: users of one tenant share one. Undefined: another user. */
  areaOf(username: string): string | undefined
}

/** Records that one file has left to read. */
interface Reader {
  readonly rest: AsyncGenerator<Stored, void, undefined>
  next: Stored | undefined
}

/**
 * The operations of the control plane with their users, in files of bounded size. Denied attempts have files of their own, and so
 * has each tenant: neither a client that guesses passwords all night, nor a user who refreshes a session in a loop, may push out the
 * records of operators, or of other tenants.
 */
export class AuditLog {
  readonly #done: RecordFile
  readonly #denied: RecordFile
  readonly #areas = new Map<string, RecordFile>()
  readonly #options: AuditLogOptions
  #seq: number

  private constructor(options: AuditLogOptions, areas: readonly string[]) {
    this.#options = options
    this.#done = this.#fileOf('audit.jsonl', MAX_BYTES)
    this.#denied = this.#fileOf('audit-denied.jsonl', MAX_DENIED_BYTES)
    for (const name of [SHARED_AREA, ...areas]) this.#areas.set(name, this.#fileOf(name, MAX_AREA_BYTES))
    this.#seq = options.nowMs * 1000
  }

  /** Finds the files of an earlier process. */
  static async open(options: AuditLogOptions): Promise<AuditLog> {
    const names = await readdir(options.stateDir)
    return new AuditLog(options, names.filter((name) => AREA_NAME.test(name)).slice(0, MAX_AREAS))
  }

  /** Stores a record. Rejects when it cannot be written; the log line is there in any case. */
  async add(record: AuditRecord): Promise<void> {
    const { username, address, action, target, detail } = record
    const [user, from, act, on, why] = [username, address, action, target, detail].map((text) => text.slice(0, MAX_CHARS))
    const stored = { ...record, username: user, address: from, action: act, target: on, detail: why, seq: ++this.#seq }
    const { at: _, seq: __, ...shown } = stored
    this.#options.logger.info({ audit: shown }, `audit: ${act} ${record.result}`)
    // Names of users that clients made up are in it, and it may be read on a terminal.
    await this.#fileFor(record).append(printable(JSON.stringify(stored)))
  }

  /** A page of records, newest first. */
  async page({ limit, before = Number.POSITIVE_INFINITY, sinceMs = 0, ...filter }: AuditQuery): Promise<AuditPage> {
    const readers: Reader[] = []
    const found: AuditRecord[] = []
    let last = 0
    let isEnd = false
    try {
      for (const file of this.#files) {
        const rest = older(file, before)
        readers.push({ rest, next: (await rest.next()).value ?? undefined })
      }
      for (let read = 0; read < MAX_READ && found.length < limit; read++) {
        const newest = newestOf(readers)
        const record = newest?.next
        // Records are in the order of their times, but for those of a clock that was set back.
        if (newest === undefined || record === undefined || Date.parse(record.at) < sinceMs - MAX_CLOCK_STEP_MS) {
          isEnd = true
          break
        }
        const { seq, ...shown } = record
        last = seq
        if (Date.parse(record.at) >= sinceMs && isSelected(record, filter)) found.push(shown)
        newest.next = (await newest.rest.next()).value ?? undefined
      }
      isEnd ||= newestOf(readers) === undefined
    } finally {
      for (const { rest } of readers) await rest.return()
    }
    return { entries: found, cursor: isEnd ? null : last }
  }

  async close(): Promise<void> {
    await Promise.all(this.#files.map((file) => file.close()))
  }

  get #files(): RecordFile[] {
    return [this.#done, this.#denied, ...this.#areas.values()]
  }

  #fileOf(name: string, maxBytes: number): RecordFile {
    return new RecordFile(join(this.#options.stateDir, name), maxBytes)
  }

  #fileFor({ result, action, username }: AuditRecord): RecordFile {
    const area = action === LOGIN && result === 'denied' ? undefined : this.#options.areaOf(username)
    if (area !== undefined) return this.#areaFile(area)
    return result === 'denied' ? this.#denied : this.#done
  }

  #areaFile(area: string): RecordFile {
    const own = `audit-limited-${createHash('sha256').update(area).digest('hex').slice(0, 16)}.jsonl`
    const name = this.#areas.has(own) || this.#areas.size <= MAX_AREAS ? own : SHARED_AREA
    return entryOf(this.#areas, name, () => this.#fileOf(name, MAX_AREA_BYTES))
  }
}

function isSelected(record: AuditRecord, { username, text, result }: Omit<AuditQuery, 'limit'>): boolean {
  return (
    (username === undefined || record.username === username) &&
    (result === undefined || record.result === result) &&
    (text === undefined || `${record.action} ${record.target}`.toLowerCase().includes(text))
  )
}

async function* older(file: RecordFile, before: number): AsyncGenerator<Stored, void, undefined> {
  for await (const line of file.newestFirst()) {
    const record = parse(line)
    if (record !== undefined && record.seq < before) yield record
  }
}

function newestOf(readers: readonly Reader[]): Reader | undefined {
  let newest: Reader | undefined
  for (const reader of readers) {
    if (reader.next !== undefined && (newest?.next === undefined || reader.next.seq > newest.next.seq)) newest = reader
  }
  return newest
}

/** A line that a crash has cut is no record. */
function parse(line: string): Stored | undefined {
  try {
    return JSON.parse(line) as Stored
  } catch {
    return undefined
  }
}
