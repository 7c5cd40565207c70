import {
  canBeValidated,
  type Fill,
  firstField,
  freshenedFields,
  mayBeShared,
  type ProxyAddress,
  type Refusal,
  type StoredEntry,
  type Storing,
  storingOf,
  uriTag,
  validatingFields,
} from '@svc/cache'
import type { HeaderList, ResponseHead, ResponseSink, ResponseSource } from '@svc/http'
import { BodyDelivery } from './body-delivery.ts'
import type { CacheClient } from './cache-ask.ts'
import { type Delivered, deliveryOf } from './delivery.ts'
import { FlightLease } from './flight-lease.ts'
import type { FlightOwner, FlightParts, FlightStart } from './flight-parts.ts'
import { SpooledBody } from './spooled-body.ts'
import { mayReplaceFailure, mayReplaceStatus } from './stale-rules.ts'

/** One request to an upstream for a resource: whoever asks for the same meanwhile gets the same answer. */
export class ProxyFlight implements ResponseSink {
  readonly #start: FlightStart
  readonly #parts: FlightParts
  readonly #owner: FlightOwner
  readonly #fill: Fill
  readonly #lease: FlightLease
  #clients: CacheClient[] = []
  #leader: CacheClient | undefined
  #stale: StoredEntry | undefined
  #source: ResponseSource | undefined
  #sentAt = 0
  #spool: SpooledBody | undefined
  /** The body, where it came at once. */
  #whole: Buffer | undefined
  /** Where the answer is kept, once it is known that it may be. */
  #stored: { readonly key: string; readonly storing: Storing } | undefined
  #response: Delivered | undefined
  readonly #over = Promise.withResolvers<void>()
  #isJoinable = true
  #isOver = false

  constructor(start: FlightStart, parts: FlightParts, owner: FlightOwner) {
    this.#start = start
    this.#parts = parts
    this.#owner = owner
    this.#fill = parts.ledger.begin()
    this.#lease = new FlightLease(parts.leases, parts.clock)
    const { stale } = start
    // The body is lent for this turn alone.
    this.#stale = stale === undefined ? undefined : { ...stale.entry, body: Buffer.from(stale.entry.body) }
  }

  get address(): ProxyAddress {
    return this.#start.ask.address
  }

  /** Whether somebody who comes now may have the answer. */
  get isJoinable(): boolean {
    return this.#isJoinable && !this.#isOver
  }

  /** Resolves when there is nothing more to do. */
  get over(): Promise<void> {
    return this.#over.promise
  }

  /** A stored response that those who do not want to wait may have. */
  get stale(): StoredEntry | undefined {
    return this.#stale
  }

  /** Where the answer to a client lies, as far as this flight knows what it depends on. */
  keyFor({ ask, request }: CacheClient): string {
    const { key, storing } = this.#stored ?? {}
    if (storing === undefined || key === undefined) return this.#start.key
    return this.#parts.store.keyOf(ask.address, storing.vary, request.headers)
  }

  /** Whether the answer is one for this client, or may be. */
  suits(client: CacheClient): boolean {
    const response = this.#response
    if (response === undefined) return true
    if (!mayBeShared(response.headers, client.request.headers)) return false
    return this.#stored === undefined || this.keyFor(client) === this.#stored.key
  }

  /** Begins. `leader`: whose request it is; undefined: nobody waits. */
  begin(leader: CacheClient | undefined): void {
    this.#leader = leader
    if (leader !== undefined) this.#add(leader)
    if (this.#start.isShared) this.#takeLease()
    else this.#ask()
  }

  /** Somebody else asks for the same. */
  join(client: CacheClient): void {
    this.#parts.metrics.coalesced.value++
    if (this.#response === undefined) this.#add(client)
    else if (this.suits(client)) this.#deliver(client, this.#response)
    else this.#owner.again(client)
  }

  /** A purge takes what is under way: those who come from now on must not get it. */
  purged(): void {
    this.#closeDoor()
  }

  attach(source: ResponseSource): void {
    this.#source = source
    if (this.#isOver) source.abort()
  }

  informational(head: ResponseHead): void {
    if (this.#leader?.isGone === false) this.#leader.sink.informational(head)
  }

  head(head: ResponseHead, length: number | undefined): void {
    if (this.#isOver) return
    if (head.status === 304 && this.#stale !== undefined && canBeValidated(this.#stale.headers)) {
      this.#validated(this.#stale, head)
      return
    }
    const { ask } = this.#start
    if (this.#stale !== undefined && mayReplaceStatus(this.#stale, head.status, ask.rules.useStale, this.#now())) {
      this.#serveStale(this.#stale)
      return
    }
    const storing = this.#storingOf(head, this.#sentAt)
    if (!('refused' in storing) && this.#mayKeep(length)) this.#keep(head, length, storing)
    else this.#giveOn(head, length, 'refused' in storing ? storing.refused : 'size')
  }

  whole(head: ResponseHead, body: Uint8Array): void {
    // One copy for the store and all clients.
    this.#whole = Buffer.from(body)
    this.head(head, body.byteLength)
    this.end([])
  }

  chunk(bytes: Uint8Array): boolean {
    return this.#spool?.add(Buffer.from(bytes)) ?? true
  }

  end(trailers: HeaderList): void {
    const spool = this.#spool
    if (this.#isOver || spool === undefined) return
    const expected = this.#response?.length
    // Fields behind the body are not kept, and so neither is what has them.
    const isWhole = (expected === undefined || expected === spool.bytes) && trailers.length === 0
    spool.end(undefined)
    if (this.#stored === undefined || !isWhole) this.#finish('failed')
    else void this.#store(spool, this.#stored)
  }

  fail(error: Error): void {
    if (this.#isOver) return
    if (this.#spool !== undefined) {
      this.#spool.end(error)
      this.#finish('failed')
      return
    }
    const stale = this.#stale
    if (stale !== undefined && mayReplaceFailure(stale, error, this.#start.ask.rules.useStale, this.#now())) {
      this.#serveStale(stale)
      return
    }
    const clients = this.#takeClients()
    this.#finish('failed')
    for (const { sink } of clients) sink.fail(error)
  }

  #add(client: CacheClient): void {
    this.#clients.push(client)
    client.leave = () => {
      this.#clients = this.#clients.filter((other) => other !== client)
      // A background validation has nobody from the start; a request that somebody wanted goes on for its answer only if that is kept.
      if (this.#clients.length === 0 && this.#spool === undefined && this.#leader !== undefined) this.#finish('failed')
    }
  }

  #takeLease(): void {
    void this.#lease.take(this.#start.key).then((outcome) => {
      if (outcome === 'granted' || outcome === 'failed') this.#ask()
      else this.#others(outcome)
    })
  }

  /** Another worker has fetched it meanwhile. */
  #others(outcome: 'stored' | 'pass'): void {
    if (this.#isOver) return
    if (outcome === 'pass') this.#parts.passes.add(this.#start.key, 'other')
    if (outcome === 'stored') this.#parts.store.refresh()
    const clients = this.#takeClients()
    this.#finish('failed')
    for (const client of clients) this.#owner.again(client)
  }

  #ask(): void {
    if (this.#isOver) return
    const { origin, request } = this.#start
    const stale = this.#stale !== undefined && canBeValidated(this.#stale.headers) ? this.#stale.headers : undefined
    this.#sentAt = this.#now()
    this.#whole = undefined
    origin.fetch({ ...request, method: 'GET', headers: validatingFields(request.headers, stale) }, this)
  }

  #storingOf(head: ResponseHead, sentAt: number): Storing | Refusal {
    const { ask, request } = this.#start
    if (ask.isUnkept) return { refused: 'no-cache' }
    const ruleSeconds = ask.rules.validSeconds(head.status)
    return storingOf({ request: { ...request, method: 'GET' }, head, sentAt, receivedAt: this.#now(), ruleSeconds })
  }

  /** Where an answer to the request of this flight lies. */
  #keyOf({ vary }: Storing): string {
    return this.#parts.store.keyOf(this.address, vary, this.#start.request.headers)
  }

  #mayKeep(length: number | undefined): boolean {
    const { maxBodyBytes } = this.#parts.store
    return maxBodyBytes > 0 && (length ?? 0) <= maxBodyBytes && this.#isUnpurged()
  }

  #isUnpurged(): boolean {
    return this.#parts.ledger.mayStore(this.#fill, this.#purgeable(), 'proxy')
  }

  #purgeable() {
    const { label, path, hostname, uri } = this.address
    return { label, path, host: hostname, tags: [uriTag(uri)] }
  }

  /** The stored response is still valid. */
  #validated(stale: StoredEntry, head: ResponseHead): void {
    const key = this.#start.stale?.key ?? this.#start.key
    const headers = freshenedFields(stale.headers, head.headers)
    const age = head.headers.filter(([name]) => name === 'age')
    const storing = this.#storingOf({ status: stale.status, headers: [...headers, ...age] }, this.#sentAt)
    // What now depends on other fields has its place elsewhere.
    const isMoved = !('refused' in storing) && this.#keyOf(storing) !== key
    if (isMoved) {
      this.#stale = undefined
      this.#source?.abort()
      // Outside of the calls of the source.
      queueMicrotask(() => this.#ask())
      return
    }
    this.#source?.abort()
    const isKept = !('refused' in storing) && this.#isUnpurged()
    const { createdAt, ttlMs, swrMs } = 'refused' in storing ? { createdAt: this.#now(), ttlMs: 0, swrMs: 0 } : storing
    const entry: StoredEntry = { ...stale, headers, createdAt, ttlMs, swrMs, seq: this.#fill.seq, isMarkedStale: false }
    const clients = this.#takeClients()
    this.#closeDoor()
    for (const client of clients) {
      const isCollapsed = client !== this.#leader
      if (isCollapsed && 'refused' in storing) this.#owner.pass(client, storing.refused)
      else this.#owner.serve(client, { key, entry, how: 'validated', isCollapsed })
    }
    if (!isKept) this.#finish('failed')
    else {
      const { body, ...facts } = entry
      void this.#parts.store.putAgain(key, facts, body).then((isStored) => this.#finish(isStored ? 'stored' : 'failed'))
    }
  }

  #serveStale(entry: StoredEntry): void {
    this.#source?.abort()
    const key = this.#start.stale?.key ?? this.#start.key
    const clients = this.#takeClients()
    this.#finish('failed')
    for (const client of clients) this.#owner.serve(client, { key, entry, how: 'instead', isCollapsed: client !== this.#leader })
  }

  /** A response that is kept: everybody whom it suits gets it as it comes. */
  #keep(head: ResponseHead, length: number | undefined, storing: Storing): void {
    this.#lease.begun()
    this.#stored = { key: this.#keyOf(storing), storing }
    this.#stream({ ...head, headers: storing.headers, createdAt: storing.createdAt, length, isStored: false })
  }

  /**
   * A response that is not kept. Failures are for all who wait, else they would be repeated by each; but not what may show who
   * asked.
   */
  #giveOn(head: ResponseHead, length: number | undefined, refused: string): void {
    const { request, isShared, ask, key } = this.#start
    const isFailure = head.status >= 500 && (refused === 'no-lifetime' || refused === 'size')
    const isForAll = isFailure && isShared && !isPersonal(request.headers)
    const waiting = isForAll ? [] : this.#takeClients().filter((client) => client !== this.#leader)
    this.#closeDoor()
    if (!isFailure && isShared && !ask.isUnkept) this.#parts.passes.add(key, refused)
    if (!isForAll && this.#leader !== undefined && !this.#leader.isGone) this.#clients = [this.#leader]
    this.#lease.end(isFailure ? 'failed' : 'pass')
    this.#stream({ ...head, createdAt: this.#now(), length, isStored: false }, refused)
    for (const client of waiting) this.#owner.pass(client, refused)
  }

  #stream(response: Delivered, refused?: string): void {
    const { store, clock, onProblem } = this.#parts
    this.#response = response
    this.#spool = new SpooledBody({
      clock,
      begin: () => store.files.begin(this.address.label),
      maxBytes: this.#stored === undefined ? 0 : store.maxBodyBytes,
      onUnkept: (error) => {
        this.#closeDoor()
        if (error !== undefined) onProblem(error)
      },
      onUnread: () => this.#finish('failed'),
      onRoom: () => this.#source?.resume(),
    })
    if (this.#whole !== undefined && this.#whole.byteLength > 0) this.#spool.add(this.#whole)
    const clients = this.#takeClients()
    for (const client of clients) {
      if (client === this.#leader || this.suits(client)) this.#deliver(client, response, refused)
      else this.#owner.again(client)
    }
    if (this.#stored === undefined && !this.#spool.hasReaders) this.#finish('failed')
  }

  #deliver(client: CacheClient, response: Delivered, refused?: string): void {
    const spool = this.#spool
    if (spool === undefined || client.isGone) return
    const isCollapsed = client !== this.#leader
    const { head, from, to, length } = deliveryOf(client.request, response, this.#now())
    client.ask.report({
      outcome: this.#start.reason,
      isStored: this.#stored !== undefined,
      isCollapsed,
      ...(refused !== undefined && { detail: refused }),
    })
    if (this.#stored !== undefined && head.status === response.status) this.#offer(client, this.#stored)
    const isHead = client.request.method === 'HEAD'
    if (this.#whole !== undefined && !isHead && length !== undefined) {
      client.sink.whole(head, this.#whole.subarray(from, to))
      return
    }
    const delivery = new BodyDelivery(spool, client.sink, from, isHead ? from : to)
    client.sink.attach(delivery)
    client.sink.head(head, length)
    delivery.start()
  }

  #offer({ ask }: CacheClient, { key, storing }: { readonly key: string; readonly storing: Storing }): void {
    const { label, path, tags } = this.#purgeable()
    const { createdAt, ttlMs, headers } = storing
    ask.offer({ createdAt, ttlMs, label, path, tags, seq: this.#fill.seq, headers }, key)
  }

  async #store(spool: SpooledBody, { key, storing }: { readonly key: string; readonly storing: Storing }): Promise<void> {
    const { store } = this.#parts
    const body = await spool.kept(key)
    let isStored = false
    if (body !== undefined && this.#isUnpurged()) {
      const { address } = this
      const request = this.#start.request.headers
      const status = this.#response?.status ?? 0
      isStored = await store.put({ address, request, status, storing, body, seq: this.#fill.seq })
    }
    if (!isStored && body !== undefined && !(body instanceof Uint8Array)) store.files.discard([body.name])
    this.#finish(isStored ? 'stored' : 'failed')
  }

  #takeClients(): CacheClient[] {
    const clients = this.#clients.filter(({ isGone }) => !isGone)
    this.#clients = []
    return clients
  }

  #closeDoor(): void {
    if (!this.#isJoinable) return
    this.#isJoinable = false
    this.#owner.closed()
  }

  #finish(outcome: 'stored' | 'failed'): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#source?.abort()
    this.#closeDoor()
    this.#lease.end(outcome)
    this.#parts.ledger.end(this.#fill)
    this.#spool?.release()
    this.#over.resolve()
  }

  #now(): number {
    return this.#parts.clock.now()
  }
}

/** Whether a request says who asks. */
function isPersonal(headers: HeaderList): boolean {
  return firstField(headers, 'cookie') !== undefined || firstField(headers, 'authorization') !== undefined
}
