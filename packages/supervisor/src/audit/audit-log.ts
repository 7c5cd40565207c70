import { join } from 'node:path'
import type { AuditPage, AuditRecord } from '@svc/protocol'
import type { Logger } from '@svc/telemetry'
import { RecordFile } from './record-file.ts'

/** Bytes of all records of operations, and of those that were denied: more than 10,000 each. */
const MAX_BYTES = 8 * 1024 * 1024
const MAX_DENIED_BYTES = 4 * 1024 * 1024
/** Longest text of one field. */
const MAX_CHARS = 500

/** A record as it is stored. */
interface Stored extends AuditRecord {
  /** Place in the order of all records. */
  readonly seq: number
}

/**
 * The operations of the control plane with who ordered them, in files of bounded size. Denied attempts have files of their own: a
 * client that guesses passwords all night must not push out the record of what was done.
 */
export class AuditLog {
  readonly #done: RecordFile
  readonly #denied: RecordFile
  readonly #logger: Logger
  #seq: number

  /** @param nowMs wall clock: numbers continue above those of an earlier process */
  constructor(stateDir: string, logger: Logger, nowMs: number) {
    this.#done = new RecordFile(join(stateDir, 'audit.jsonl'), MAX_BYTES)
    this.#denied = new RecordFile(join(stateDir, 'audit-denied.jsonl'), MAX_DENIED_BYTES)
    this.#logger = logger
    this.#seq = nowMs * 1000
  }

  /** Stores a record. Rejects when it cannot be written; the log line is there in any case. */
  async add(record: AuditRecord): Promise<void> {
    const { username, address, action, target, detail } = record
    const [user, from, act, on, why] = [username, address, action, target, detail].map((text) => text.slice(0, MAX_CHARS))
    const stored = { ...record, username: user, address: from, action: act, target: on, detail: why, seq: ++this.#seq }
    const { at: _, seq: __, ...shown } = stored
    this.#logger.info({ audit: shown }, `audit: ${act} ${record.result}`)
    await (record.result === 'denied' ? this.#denied : this.#done).append(JSON.stringify(stored))
  }

  /**
   * A page of records, newest first.
   * @param before the cursor of the page before
   */
  async page(limit: number, before = Number.POSITIVE_INFINITY): Promise<AuditPage> {
    const found: Stored[] = []
    for (const file of [this.#done, this.#denied]) found.push(...(await older(file, limit + 1, before)))
    found.sort((a, b) => b.seq - a.seq)
    const page = found.slice(0, limit)
    return {
      entries: page.map(({ seq: _, ...record }) => record),
      cursor: found.length > limit ? (page.at(-1)?.seq ?? null) : null,
    }
  }

  async close(): Promise<void> {
    await Promise.all([this.#done.close(), this.#denied.close()])
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
