import { type CallContext, FairRing, LossyChunks } from '@svc/core'
import type { LogBatch, LogFilter, LogPage, LogPlace, LogQuery } from '@svc/protocol'

type Line = LogBatch['lines'][number]

interface StoredLine extends Line {
  /** Counts the lines as they arrive. */
  readonly number: number
}

/** Bounds of a `LogStore`. */
interface LogStoreLimits {
  readonly maxLines: number
  readonly maxChars: number
}

/** Longer lines are not from a relay. */
const MAX_LINE_CHARS = 16 * 1024

/** More than a relay sends at a time. */
const MAX_BATCH_LINES = 500

function lineOfSite({ at, level, text }: Line, site: string): Line {
  const fields =
    text.length > MAX_LINE_CHARS ? { msg: text.slice(0, MAX_LINE_CHARS / 2), cut_from_chars: text.length } : parsed(text)
  return { at: Math.min(at, Date.now()), level, site, text: JSON.stringify({ ...fields, site }) }
}

function parsed(text: string): object {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : { msg: text }
  } catch {
    return { msg: text }
  }
}

function order(one: LogPlace, other: LogPlace): number {
  return one.at - other.at || one.number - other.number
}

/** A reader that gets new lines. */
interface Follower {
  readonly filter: LogFilter
  readonly chunks: LossyChunks
}

function matches({ level, site, text }: Line, filter: LogFilter): boolean {
  if (level < filter.level || filter.sites?.includes(site) === false) return false
  // A line is JSON: a text is found there as it is, and as a part of a string.
  return filter.text === '' || text.includes(filter.text) || text.includes(JSON.stringify(filter.text).slice(1, -1))
}

/** The last log lines of all processes of the instance. A site that logs a lot pushes out its own lines, not those of others. */
export class LogStore {
  readonly #lines: FairRing<StoredLine>
  readonly #followers = new Set<Follower>()
  #dropped = 0
  #number = 0

  constructor({ maxLines, maxChars }: LogStoreLimits = { maxLines: 5_000, maxChars: 4 * 1024 * 1024 }) {
    this.#lines = new FairRing({ maxItems: maxLines, maxWeight: maxChars })
  }

  add(line: Line): void {
    if (line.text.length + line.site.length > MAX_LINE_CHARS) {
      this.#dropped++
      return
    }
    this.#lines.add(line.site, { ...line, number: ++this.#number }, line.text.length)
    for (const { filter, chunks } of this.#followers) if (matches(line, filter)) chunks.send(line.text)
  }

  /**
   * Adds the lines of a process.
   * @param site set: the process runs as the user of this site, so that nothing in its lines can be relied on
   */
  addBatch({ lines, dropped }: LogBatch, site?: string): void {
    const taken = lines.slice(0, MAX_BATCH_LINES)
    this.#dropped += dropped + lines.length - taken.length
    for (const line of taken) this.add(site === undefined ? line : lineOfSite(line, site))
  }

  page({ filter, sinceMs, before, limit, maxBytes }: LogQuery): LogPage {
    const found: StoredLine[] = []
    for (const line of this.#lines.of(filter.sites)) {
      const isInRange = line.at >= sinceMs && (before === undefined || order(line, before) < 0)
      if (isInRange && matches(line, filter)) found.push(line)
    }
    // Batches of processes arrive one after the other.
    found.sort(order)
    let first = found.length
    for (let bytes = 0; first > 0 && found.length - first < limit; first--) {
      bytes += Buffer.byteLength(found[first - 1]?.text ?? '') + 1
      if (bytes > maxBytes && first < found.length) break
    }
    const lines = found.slice(first)
    const [{ at, number } = { at: 0, number: 0 }] = lines
    return { lines: lines.map(({ text }) => text), dropped: this.#dropped, next: first === 0 ? null : { at, number } }
  }

  /** Sends each matching line to the caller from now on. Resolves when the caller is gone. */
  follow(filter: LogFilter, call: Pick<CallContext, 'send' | 'drained' | 'onAbort'>): Promise<undefined> {
    const { promise, resolve } = Promise.withResolvers<undefined>()
    const follower = { filter, chunks: new LossyChunks(call) }
    this.#followers.add(follower)
    call.onAbort(() => {
      this.#followers.delete(follower)
      resolve(undefined)
    })
    return promise
  }
}
