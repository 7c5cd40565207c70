import { join } from 'node:path'
import type { AuditPage, AuditRecord } from '@svc/protocol'
import type { Logger } from '@svc/telemetry'
import { RecordFile } from './record-file.ts'

/** Bytes of the records of each file. Denied attempts, and users of limited roles, have half of those of the operators: still more than 10,000. */
const MAX_BYTES = 8 * 1024 * 1024
const MAX_LIMITED_BYTES = 4 * 1024 * 1024
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
  /** Returns true for a user who does not administer the whole instance. */
  isLimited(username: string): boolean
}

/**
 * The operations of the control plane with who ordered them, in files of bounded size. Denied attempts have files of their own, and so
 * have users of limited roles: neither a client that guesses passwords all night, nor a viewer who refreshes a session in a loop, may
 * push out the record of what the operators did.
 */
export class AuditLog {
  readonly #done: RecordFile
  readonly #ofLimited: RecordFile
  readonly #denied: RecordFile
  readonly #options: AuditLogOptions
  #seq: number

  constructor(options: AuditLogOptions) {
    const fileOf = (name: string, maxBytes: number) => new RecordFile(join(options.stateDir, name), maxBytes)
    this.#done = fileOf('audit.jsonl', MAX_BYTES)
    this.#ofLimited = fileOf('audit-limited.jsonl', MAX_LIMITED_BYTES)
    this.#denied = fileOf('audit-denied.jsonl', MAX_LIMITED_BYTES)
    this.#options = options
    this.#seq = options.nowMs * 1000
  }

  /** Stores a record. Rejects when it cannot be written; the log line is there in any case. */
  async add(record: AuditRecord): Promise<void> {
    const { username, address, action, target, detail } = record
    const [user, from, act, on, why] = [username, address, action, target, detail].map((text) => text.slice(0, MAX_CHARS))
    const stored = { ...record, username: user, address: from, action: act, target: on, detail: why, seq: ++this.#seq }
    const { at: _, seq: __, ...shown } = stored
    this.#options.logger.info({ audit: shown }, `audit: ${act} ${record.result}`)
    const file = record.result === 'denied' ? this.#denied : this.#options.isLimited(username) ? this.#ofLimited : this.#done
    await file.append(JSON.stringify(stored))
  }

  /**
   * A page of records, newest first.
   * @param before the cursor of the page before
   */
  async page(limit: number, before = Number.POSITIVE_INFINITY): Promise<AuditPage> {
    const found: Stored[] = []
    for (const file of this.#files) found.push(...(await older(file, limit + 1, before)))
    found.sort((a, b) => b.seq - a.seq)
    const page = found.slice(0, limit)
    return {
      entries: page.map(({ seq: _, ...record }) => record),
      cursor: found.length > limit ? (page.at(-1)?.seq ?? null) : null,
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.#files.map((file) => file.close()))
  }

  get #files(): RecordFile[] {
    return [this.#done, this.#ofLimited, this.#denied]
  }
}

async function older(file: RecordFile, limit: number, before: number): Promise<Stored[]> {
  const found: Stored[] = []
  for await (const line of file.newestFirst()) {
    const record = parse(line)
    if (record !== undefined && record.seq < before) found.push(record)
    if (found.length === limit) break
  }
  return found
}

/** A line that a crash has cut is no record. */
function parse(line: string): Stored | undefined {
  try {
    return JSON.parse(line) as Stored
  } catch {
    return undefined
  }
}
