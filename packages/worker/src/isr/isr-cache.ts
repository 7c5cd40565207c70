import { type EntryFacts, type Purge, SecondAsk } from '@svc/cache'
import { AnswerSink } from '../pipeline/stages/answer-sink.ts'
import type { Turn } from './flight.ts'
import { Flights } from './flights.ts'
import { type Found, type IsrParts, keyNow, lookUp } from './isr-parts.ts'
import { Keeper } from './keeper.ts'
import { passKeyOf } from './page-address.ts'
import type { BackgroundRender, PageAsk } from './page-ask.ts'
import { PassMemory } from './pass-memory.ts'
import { labelsOf } from './purged-labels.ts'
import { Revalidator } from './revalidator.ts'
import { SharedBodies } from './shared-bodies.ts'
import { storabilityOf } from './storability.ts'
import { type IsrStatus, isrStatus, sendStored } from './stored-sender.ts'

/** What the cache of a worker is made of. */
export type IsrCacheOptions = Omit<IsrParts, 'keeper' | 'passes' | 'admission' | 'bodies'>

/** How often a request begins anew because what it waited for was not what it needs, before it is rendered alone. */
const MAX_ROUNDS = 4
/** A second request for a key that clients can make up counts when it comes within this time of the first. */
const ADMISSION_WINDOW_MS = 60_000

/** Answers requests for pages, and for handlers that say how long they hold, from the store that all workers share. */
export class IsrCache {
  readonly #parts: IsrParts
  readonly #flights: Flights
  readonly #revalidator: Revalidator

  constructor(options: IsrCacheOptions) {
    const { store, ledger, clock } = options
    const admission = new SecondAsk(ADMISSION_WINDOW_MS)
    const keeper = new Keeper({ store, ledger, admission, clock })
    this.#parts = { ...options, keeper, admission, passes: new PassMemory(clock), bodies: new SharedBodies() }
    this.#flights = new Flights(this.#parts, {
      again: (turn) => this.#again(turn),
      alone: (turn, detail) => this.#alone(turn, detail === undefined ? { outcome: 'uri-miss' } : { outcome: 'bypass', detail }),
    })
    this.#revalidator = new Revalidator(this.#parts)
  }

  /** Answers a request: from the store, by another one's render, or by a render of its own. */
  answer(ask: PageAsk): void {
    const { clock, ledger } = this.#parts
    this.#serve({ ask, deadlineMs: clock.monotonic() + ask.settings.waitMs, seq: ledger.last, rounds: 0 })
  }

  /** Renders a page into the store, unless it is there and fresh. Rejects when the render fails. */
  async warm(background: BackgroundRender): Promise<void> {
    const key = keyNow(this.#parts, background.address)
    if (lookUp(this.#parts, key)?.freshness !== 'fresh') await this.#revalidator.render(key, background)
  }

  /** A purge has been noted: what could not be stored before it may be storable now. */
  purged(purge: Purge): void {
    const labels = labelsOf(purge)
    if (labels === undefined) this.#parts.passes.clear()
    else for (const label of labels) this.#parts.passes.forgetLabel(label)
  }

  /** Code of a label has changed. */
  siteChanged(label: string): void {
    this.#parts.passes.forgetLabel(label)
    this.#revalidator.forgetLabel(label)
  }

  #serve(turn: Turn): void {
    const { ask, rounds } = turn
    const { metrics, passes } = this.#parts
    const key = keyNow(this.#parts, ask.address)
    const found = lookUp(this.#parts, key)
    if (found !== undefined && found.freshness !== 'expired') {
      this.#hit(ask, key, found)
      return
    }
    if (rounds === 0) metrics.misses.l1.value++
    const detail = passes.get(passKeyOf(key, ask.address))
    if (detail !== undefined) this.#alone(turn, { outcome: 'bypass', detail })
    else if (!mayShare(ask)) this.#alone(turn, { outcome: 'uri-miss' })
    else this.#flights.board(key, turn)
  }

  #hit(ask: PageAsk, key: string, { entry, freshness }: Found): void {
    const { clock, metrics } = this.#parts
    metrics.hits.l1.value++
    sendStored(this.#parts, ask.context, entry, hitStatus(entry, clock.now()))
    if (freshness === 'stale') this.#revalidator.begin(key, () => ask.background())
  }

  #again(turn: Turn): void {
    const { ask, rounds } = turn
    if (ask.isOutdated()) ask.matchAgain()
    else if (rounds >= MAX_ROUNDS) this.#alone(turn, { outcome: 'uri-miss' })
    else this.#serve({ ...turn, rounds: rounds + 1 })
  }

  /** Renders for one request, and remembers what that tells of the next ones. */
  #alone({ ask }: Turn, status: IsrStatus): void {
    const { context, address, settings } = ask
    const { passes, renderer } = this.#parts
    context.cacheStatus = isrStatus(status)
    const sink = new AnswerSink(context, {
      failed: (error) => ask.fail(error),
      completed: (head, facts) => {
        if (!mayShare(ask)) return
        const key = passKeyOf(keyNow(this.#parts, address), address)
        const storability = storabilityOf({ ...head, facts }, address, settings)
        if (storability.verdict === 'pass') passes.add(key, storability.detail)
        else passes.delete(key)
      },
    })
    renderer.render(ask.requestFor('own'), undefined, sink)
  }
}

/** Whether the answer to this request can be everyone's. What a handler answers to HEAD says nothing of its body. */
function mayShare({ context, address }: PageAsk): boolean {
  return context.request.method === 'GET' || address.kind !== 'handler'
}

/** RFC 9211 section 2.1: what is served past its time has a negative ttl. */
function hitStatus({ createdAt, ttlMs, isMarkedStale }: EntryFacts, now: number): IsrStatus {
  if (ttlMs === null) return isMarkedStale ? { outcome: 'hit', ttlSeconds: 0 } : { outcome: 'hit' }
  const ttlSeconds = Math.floor((createdAt + ttlMs - now) / 1000)
  return { outcome: 'hit', ttlSeconds: isMarkedStale ? Math.min(0, ttlSeconds) : ttlSeconds }
}
