import type { Fill } from '@svc/cache'
import { asError } from '@svc/core'
import { WorkerError } from '../errors.ts'
import { AnswerSink } from '../pipeline/stages/answer-sink.ts'
import { isStale as isStaleManifest } from '../pipeline/stages/render-plan.ts'
import { cameBack } from '../pipeline/stages/request-loop.ts'
import { Flight, type Turn } from './flight.ts'
import { type IsrParts, keyNow, lookUp } from './isr-parts.ts'
import type { Judgement, Keepable, Made } from './keeper.ts'
import { acquireLease, type Lease, withoutLease } from './leases.ts'
import { keyOf, passKeyOf } from './page-address.ts'
import { type FillEnd, PageFill } from './page-fill.ts'
import { isrStatus, sendStored } from './stored-sender.ts'

/** What becomes of requests that a flight cannot answer. */
export interface FlightExits {
  /** Looks again, from the start. */
  again(turn: Turn): void
  /** Renders for this request alone. */
  alone(turn: Turn, detail: string | undefined): void
}

/** A render under way for a flight. */
interface Leading {
  readonly flight: Flight
  readonly fill: Fill
  readonly lease: Lease
  readonly turn: Turn
  /** Made of the answer once, when it is whole. */
  judged: { readonly judgement: Judgement; readonly isAdmitted: boolean } | undefined
}

/** Whoever waits elsewhere tries again where it may help; what the store does not take is rendered by each. */
const LEASE_OUTCOMES = { stored: 'stored', purged: 'failed', refused: 'pass' } as const

/** The renders of missing entries: one per key in this worker, and with a lease one in the instance. */
export class Flights {
  readonly #parts: IsrParts
  readonly #exits: FlightExits
  readonly #flights = new Map<string, Flight>()

  constructor(parts: IsrParts, exits: FlightExits) {
    this.#parts = parts
    this.#exits = exits
  }

  /** Keys that are being made. */
  get size(): number {
    return this.#flights.size
  }

  /** Takes a request for a key that the store does not have. */
  board(key: string, turn: Turn): void {
    const isRepeated = this.#parts.admission.ask(key, this.#parts.clock.monotonic())
    const flight = this.#flights.get(key)
    if (flight === undefined) this.#open(key, turn, isRepeated)
    else if (!cameBack(turn.ask.context)) this.#join(flight, turn)
    else {
      flight.noteRepeated()
      this.#exits.alone(turn, undefined)
    }
  }

  #join(flight: Flight, turn: Turn): void {
    if (turn.rounds === 0) this.#parts.metrics.coalesced.value++
    flight.noteRepeated()
    if (!this.#deliver(flight, turn)) flight.wait(turn, this.#parts.clock.monotonic())
  }

  #open(key: string, turn: Turn, isRepeated: boolean): void {
    const flight = new Flight({ key, isRepeated, onLate: (own, late) => this.#late(own, late) })
    this.#flights.set(key, flight)
    flight.wait(turn, this.#parts.clock.monotonic())
    this.#take(flight, turn).catch((error) => {
      this.#parts.onProblem(asError(error))
      this.#fail(flight, asError(error))
    })
  }

  /**
   * A request has waited as long as a render may take. A stream that goes on may be without an end. Where another process has
   * the lease, one more render may help; all who wait would be a stampede on a page that is in trouble already.
   */
  #late(flight: Flight, turn: Turn): void {
    const { render } = flight
    if (render?.isStreaming === true) this.#exits.alone(turn, undefined)
    else if (render === undefined && !flight.hasLateRender) {
      flight.hasLateRender = true
      this.#exits.alone(turn, undefined)
    } else if (!this.#sendExpired(flight, turn)) {
      turn.ask.fail(new WorkerError('WORKER_WAIT_TIMEOUT', 'the render that this request waited for took too long'))
    }
  }

  /** Gets the lease and renders, or waits for whoever has it. */
  async #take(flight: Flight, opener: Turn): Promise<void> {
    const { leases, metrics, passes, store } = this.#parts
    const { context, settings } = opener.ask
    const answer = cameBack(context) ? withoutLease() : await acquireLease(leases, flight.key, settings.waitMs)
    store.refresh()
    if (answer.kind === 'ended') {
      if (opener.rounds === 0) metrics.coalesced.value++
      if (answer.outcome === 'pass') passes.add(passKeyOf(flight.key, opener.ask.address), 'elsewhere')
      this.#close(flight)
      return
    }
    const turn = flight.takeFirst()
    if (turn === undefined) {
      // All clients have left.
      answer.lease.end('failed')
      this.#flights.delete(flight.key)
      return
    }
    const isMade = this.#isMade(flight, turn)
    if (isMade || turn.ask.isOutdated()) {
      answer.lease.end(isMade ? 'stored' : 'failed')
      this.#close(flight)
      this.#exits.again(turn)
      return
    }
    const fill = this.#parts.ledger.begin()
    flight.fill = fill
    this.#lead({ flight, fill, lease: answer.lease, turn, judged: undefined })
  }

  /** Whether another one has made the entry between the look into the store and the lease. */
  #isMade(flight: Flight, { ask }: Turn): boolean {
    if (keyNow(this.#parts, ask.address) !== flight.key) return true
    const found = lookUp(this.#parts, flight.key)
    return found !== undefined && found.freshness !== 'expired'
  }

  #lead(leading: Leading): void {
    const { flight, turn } = leading
    const { ask } = turn
    const { context, settings } = ask
    const outcome = lookUp(this.#parts, flight.key) === undefined ? 'uri-miss' : 'stale'
    context.cacheStatus = isrStatus({ outcome })
    const fill = new PageFill({
      client: {
        sink: new AnswerSink(context, { failed: (error) => ask.fail(error) }),
        takesWhole: (made) => this.#answerLeader(leading, made, outcome),
        takesFailure: (error) => !isStaleManifest(error) && this.#sendExpired(flight, turn),
      },
      maxBodyBytes: settings.maxBodyBytes,
      patienceMs: settings.waitMs,
      onEnd: (end) => this.#ended(leading, end),
    })
    flight.render = fill
    this.#parts.renderer.render(ask.requestFor('shared'), undefined, fill)
  }

  #judge(leading: Leading, made: Made): NonNullable<Leading['judged']> {
    if (leading.judged !== undefined) return leading.judged
    const { fill, flight, turn } = leading
    const { keeper } = this.#parts
    const judgement = keeper.judge(made, turn.ask.address, turn.ask.settings, fill)
    const isAdmitted = judgement.verdict === 'store' && keeper.isAdmitted(judgement, flight.key, flight.isRepeated)
    leading.judged = { judgement, isAdmitted }
    return leading.judged
  }

  /** Sends a whole answer to the client that it was rendered for, as what it turned out to be. */
  #answerLeader(leading: Leading, made: Made, outcome: 'uri-miss' | 'stale'): boolean {
    const { fill, flight, turn } = leading
    const { context } = turn.ask
    const { judgement, isAdmitted } = this.#judge(leading, made)
    switch (judgement.verdict) {
      case 'store': {
        const isStored = isAdmitted && this.#parts.keeper.isCurrent(judgement, fill)
        sendStored(this.#parts, context, judgement.entry, { outcome, isStored })
        return true
      }
      case 'pass':
        context.cacheStatus = isrStatus({ outcome: 'bypass', detail: judgement.detail })
        return false
      case 'failed':
        return this.#sendExpired(flight, turn)
    }
  }

  /** An entry past its time is better than a failure (RFC 5861 section 4). */
  #sendExpired(flight: Flight, { ask }: Turn): boolean {
    const found = lookUp(this.#parts, flight.key)
    if (found === undefined || ask.context.isAnswered) return false
    sendStored(this.#parts, ask.context, found.entry, { outcome: 'stale', detail: 'error' })
    return true
  }

  #ended(leading: Leading, end: FillEnd): void {
    const { fill, flight, lease, turn } = leading
    const { passes, ledger } = this.#parts
    switch (end.kind) {
      case 'made':
        this.#made(leading, end.made)
        return
      case 'unkept':
        if (!end.isFailure) passes.add(passKeyOf(flight.key, turn.ask.address), end.detail)
        lease.end(end.isFailure ? 'failed' : 'pass')
        break
      case 'failed':
      case 'unsent':
        lease.end('failed')
        break
    }
    ledger.end(fill)
    // Others wait for the page: one of them asks for it in its own name.
    if (end.kind === 'unsent') this.#close(flight)
    else if (end.kind === 'failed') this.#fail(flight, end.error)
    else this.#disperse(flight, end.detail)
  }

  #made(leading: Leading, made: Made): void {
    const { fill, flight, lease, turn } = leading
    const { passes, ledger } = this.#parts
    const { judgement } = this.#judge(leading, made)
    if (judgement.verdict === 'store') {
      this.#keep(leading, judgement).catch((error) => {
        this.#parts.onProblem(asError(error))
        lease.end('failed')
        this.#close(flight)
      })
      return
    }
    ledger.end(fill)
    if (judgement.verdict === 'pass') {
      passes.add(passKeyOf(flight.key, turn.ask.address), judgement.detail)
      if (judgement.detail === 'host') {
        // It says nothing of those who wait under a name of the site.
        lease.end('failed')
        this.#close(flight)
        return
      }
      lease.end('pass')
      this.#disperse(flight, judgement.detail)
      return
    }
    lease.end('failed')
    this.#failedPage(flight, made, judgement.isCommon)
  }

  /** Serves those who wait, and stores the entry. Who comes meanwhile is served too: nobody finds it in the store yet. */
  async #keep({ fill, flight, lease, judged }: Leading, keepable: Keepable): Promise<void> {
    const { keeper, passes, ledger } = this.#parts
    passes.delete(flight.key)
    flight.answer = keepable
    for (const turn of flight.takeAll()) if (!this.#deliver(flight, turn)) flight.wait(turn, this.#parts.clock.monotonic())
    try {
      const outcome = judged?.isAdmitted === true ? await keeper.keep(keepable, fill, flight.isRepeated) : 'purged'
      lease.end(LEASE_OUTCOMES[outcome])
    } finally {
      ledger.end(fill)
      flight.answer = undefined
      this.#close(flight)
    }
  }

  /**
   * Sends the answer of a flight to one who asked for the same, unless it came after a purge that takes the answer. One that
   * came before the purge gets it like the client of the render: else purges in a row would leave all of them without one.
   */
  #deliver({ answer, fill }: Flight, { ask, seq }: Turn): boolean {
    if (answer === undefined || fill === undefined) return false
    const { keeper, ledger } = this.#parts
    if (keyOf(ask.address, answer.variance) !== answer.key || !ledger.mayGive(fill, answer.entry, seq)) return false
    const isStored = keeper.isCurrent(answer, fill)
    sendStored(this.#parts, ask.context, answer.entry, { outcome: 'uri-miss', isStored, isCollapsed: true })
    return true
  }

  /** Ends a flight; who still waits begins anew. */
  #close(flight: Flight): void {
    this.#flights.delete(flight.key)
    for (const turn of flight.takeAll()) this.#exits.again(turn)
  }

  /** Ends a flight whose answer is for one request alone. */
  #disperse(flight: Flight, detail: string): void {
    this.#flights.delete(flight.key)
    for (const turn of flight.takeAll()) this.#exits.alone(turn, detail)
  }

  /** Ends a flight with a failure, which is told to all: one failed render is enough. */
  #fail(flight: Flight, error: Error): void {
    this.#flights.delete(flight.key)
    for (const turn of flight.takeAll()) {
      // Whose site has changed is matched anew.
      if (isStaleManifest(error) || !this.#sendExpired(flight, turn)) turn.ask.fail(error)
    }
  }

  /** Ends a flight with an error page of the site: for all, when it holds nothing of the request that it was made for. */
  #failedPage(flight: Flight, { head, body }: Made, isCommon: boolean): void {
    this.#flights.delete(flight.key)
    for (const turn of flight.takeAll()) {
      const { ask } = turn
      if (this.#sendExpired(flight, turn)) continue
      if (!isCommon) {
        this.#exits.alone(turn, 'status')
        continue
      }
      ask.context.cacheStatus = isrStatus({ outcome: 'uri-miss', isCollapsed: true })
      new AnswerSink(ask.context, { failed: (error) => ask.fail(error) }).whole(head, body, undefined)
    }
  }
}
