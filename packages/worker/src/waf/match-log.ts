import { BatchRelay, type Clock, systemClock } from '@svc/core'
import type { WafEvent } from '@svc/protocol'
import { type MetricSet, WafMetrics } from '@svc/telemetry'

/** Events that are sent at a time. With the pause between batches, it limits the rate of a worker. */
const MAX_BATCH = 100
const MAX_LINES_PER_SECOND = 20
const MAX_PATH_CHARS = 512
const MAX_METHOD_CHARS = 32

interface MatchLogOptions {
  readonly metrics: MetricSet
  /** Writes a line. */
  readonly logger: (event: WafEvent) => void
  readonly clock?: Clock
}

/** Counts, logs and reports the requests that the firewall matches. What comes too fast is counted alone. */
export class MatchLog {
  readonly #relay: BatchRelay<WafEvent>
  readonly #write: (event: WafEvent) => void
  readonly #clock: Clock
  readonly metrics: WafMetrics
  #second = -1
  #lines = 0

  constructor({ metrics, logger, clock = systemClock }: MatchLogOptions) {
    this.#relay = new BatchRelay({ maxItems: MAX_BATCH, maxWeight: MAX_BATCH, weightOf: () => 1, clock })
    this.#write = logger
    this.#clock = clock
    this.metrics = new WafMetrics(metrics)
  }

  /** Begins to send events to the master. */
  connect(send: (batch: { readonly events: WafEvent[]; readonly dropped: number }) => Promise<unknown>): void {
    this.#relay.connect(({ items: events, dropped }) => send({ events, dropped }))
  }

  add(event: Omit<WafEvent, 'at'>): void {
    this.metrics.matched(event.rule, event.action)
    const kept = {
      ...event,
      at: new Date(this.#clock.now()).toISOString(),
      method: event.method.slice(0, MAX_METHOD_CHARS),
      path: event.path.slice(0, MAX_PATH_CHARS),
    }
    this.#relay.take(kept)
    const second = Math.floor(this.#clock.monotonic() / 1000)
    if (second !== this.#second) {
      this.#second = second
      this.#lines = 0
    }
    if (this.#lines++ < MAX_LINES_PER_SECOND) this.#write(kept)
    else this.metrics.unlogged.value++
  }
}
