import { DROPPED_LEVEL, LogRate } from '@svc/guest'
import type { Logger } from '@svc/telemetry'
import type { LogOrigin } from '../contract/thread-messages.ts'

/** How long no line must be dropped until the flood counts as over; isolates say once a second how many they have dropped. */
const QUIET_MS = 2_000
/** A flood that does not end is spoken of this often. */
const LONGEST_SILENCE_MS = 60_000

const levels = new Set(['debug', 'info', 'warn', 'error'])

/** Names the request, and where it is sampled the span of its render: the caller that its fetches name. */
function fieldsOf({ requestId, trace }: LogOrigin) {
  if (requestId === '') return {}
  const [, traceId, spanId, flags] = trace?.[0]?.[1].split('-') ?? []
  return flags === '01' ? { request_id: requestId, trace_id: traceId, span_id: spanId } : { request_id: requestId }
}

/** Options of a `SiteLog`. */
interface SiteLogOptions {
  readonly site: string
  /** The logger of now: another generation may bring another. */
  readonly logger: () => Logger
}

/** Writes the log lines of one site, no faster than a site may. It counts the dropped ones, and reports them when the flood ends. */
export class SiteLog {
  readonly #options: SiteLogOptions
  readonly #rate = new LogRate(performance.now())
  #dropped = 0
  #droppedBefore = 0
  #silentSince = 0
  #timer: NodeJS.Timeout | undefined

  constructor(options: SiteLogOptions) {
    this.#options = options
  }

  write(level: string, origin: LogOrigin, text: string): void {
    if (level === DROPPED_LEVEL) this.#drop(Number(text))
    else if (!this.#rate.take(text.length, performance.now())) this.#drop(1)
    else {
      const { site, logger } = this.#options
      const name = levels.has(level) ? (level as 'info') : 'info'
      logger()[name]({ site, ...fieldsOf(origin) }, text)
    }
  }

  #drop(count: number): void {
    // The number comes out of an isolate.
    if (!Number.isSafeInteger(count) || count <= 0) return
    this.#dropped += count
    if (this.#timer !== undefined) return
    this.#silentSince = performance.now()
    this.#wait()
  }

  #wait(): void {
    this.#droppedBefore = this.#dropped
    this.#timer = setTimeout(() => this.#look(), QUIET_MS)
    this.#timer.unref()
  }

  #look(): void {
    this.#timer = undefined
    const isOver = this.#dropped === this.#droppedBefore
    if (!isOver && performance.now() - this.#silentSince < LONGEST_SILENCE_MS) {
      this.#wait()
      return
    }
    const { site, logger } = this.#options
    logger().warn({ site, dropped: this.#dropped }, `${this.#dropped} lines of the site's log were dropped: they came too fast`)
    this.#dropped = 0
  }
}
