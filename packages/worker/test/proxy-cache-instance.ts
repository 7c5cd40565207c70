import assert from 'node:assert/strict'
import { PassMemory, ProxyStore, type Purge, PurgeLedger, type PurgeOrder, proxyAddress } from '@svc/cache'
import {
  cacheStatus,
  type HeaderList,
  type RequestBody,
  type ResponseHead,
  type ResponseSink,
  type ResponseSource,
} from '@svc/http'
import { CacheMetrics, MetricSet } from '@svc/telemetry'
import { type Cleanup, ManualClock, tempDir, waitFor } from '@svc/testkit'
import type { Origin, OriginRequest } from '../../upstream/src/origin/origin.ts'
import type { CacheRules, OfferedFacts } from '../src/proxy-cache/cache-client.ts'
import { Invalidations } from '../src/proxy-cache/invalidations.ts'
import { CachingOrigin } from '../src/proxy-cache/location-cache.ts'
import { ProxyCache } from '../src/proxy-cache/proxy-cache.ts'
import { InstanceLeases } from './isr-instance.ts'

/** A request that has come to the upstream of a test. */
export class UpstreamRequest implements ResponseSource {
  readonly request: OriginRequest
  readonly #sink: ResponseSink
  isAborted = false
  /** Settle when the cache takes more. */
  #held: PromiseWithResolvers<void>[] = []

  constructor(request: OriginRequest, sink: ResponseSink) {
    this.request = request
    this.#sink = sink
    sink.attach(this)
  }

  /** Chunks behind which the cache has made no room yet. */
  get unacked(): number {
    return this.#held.length
  }

  resume(): void {
    for (const held of this.#held.splice(0)) held.resolve()
  }

  abort(): void {
    this.isAborted = true
  }

  /** First value of a field. */
  field(name: string): string | undefined {
    return this.request.headers.find(([known]) => known === name)?.[1]
  }

  head(head: ResponseHead, length?: number): void {
    if (!this.isAborted) this.#sink.head(head, length)
  }

  /** Sends a part of the body; resolves when more may come. */
  chunk(text: string | Uint8Array): Promise<void> {
    const held = Promise.withResolvers<void>()
    if (this.isAborted) return held.promise
    const lent = Buffer.from(text as string)
    const takesMore = this.#sink.chunk(lent)
    lent.fill(0)
    if (takesMore && this.#held.length === 0) held.resolve()
    else this.#held.push(held)
    return held.promise
  }

  end(trailers: HeaderList = []): void {
    if (!this.isAborted) this.#sink.end(trailers)
  }

  fail(error: Error): void {
    if (!this.isAborted) this.#sink.fail(error)
  }

  /** A whole answer. */
  answer(status: number, headers: HeaderList, text = ''): void {
    this.head({ status, headers }, Buffer.byteLength(text))
    if (text !== '') void this.chunk(text)
    this.end()
  }
}

/** An upstream whose answers the test gives. */
export class ScriptedUpstream implements Origin {
  readonly requests: UpstreamRequest[] = []
  /** Answers at once, where it is set. */
  auto: ((request: UpstreamRequest, number: number) => void) | undefined

  fetch(request: OriginRequest, sink: ResponseSink): void {
    const asked = new UpstreamRequest(request, sink)
    this.requests.push(asked)
    this.auto?.(asked, this.requests.length)
  }

  /** The n-th request, counted from 0, once it has come. */
  async request(index = 0): Promise<UpstreamRequest> {
    await waitFor(`request ${index} of the upstream`, () => this.requests.length > index)
    return this.requests[index] ?? assert.fail()
  }
}

/** Request of a client of the cache. */
export interface Asked {
  readonly method?: string
  readonly host?: string
  readonly headers?: HeaderList
  readonly body?: RequestBody
  readonly useStale?: readonly string[]
  readonly minUses?: number
  readonly isRefreshedBehind?: boolean
  readonly validSeconds?: number
  readonly isBypassed?: boolean
  readonly mustNotStore?: boolean
  /** Acknowledge nothing before `takeAll`. */
  readonly isSlow?: boolean
}

/** A client, and what it has got so far. */
export class CacheVisitor implements ResponseSink {
  readonly done = Promise.withResolvers<void>()
  readonly started = Promise.withResolvers<void>()
  status = 0
  headers: HeaderList = []
  length: number | undefined
  cacheStatus = ''
  error: Error | undefined
  readonly offers: OfferedFacts[] = []
  source: ResponseSource | undefined
  #chunks: Uint8Array[] = []
  #isSlow: boolean

  constructor(isSlow: boolean) {
    this.#isSlow = isSlow
    this.done.promise.catch(() => undefined)
  }

  get text(): string {
    return Buffer.concat(this.#chunks).toString()
  }

  get bytes(): number {
    return this.#chunks.reduce((sum, { byteLength }) => sum + byteLength, 0)
  }

  field(name: string): string | undefined {
    return this.headers.find(([known]) => known === name)?.[1]
  }

  /** Acknowledges nothing from now on, until `takeAll`. */
  holdBack(): void {
    this.#isSlow = true
  }

  takeAll(): void {
    this.#isSlow = false
    this.source?.resume()
  }

  attach(source: ResponseSource): void {
    this.source = source
  }

  informational(): void {
    // Not the business of a cache.
  }

  head({ status, headers }: ResponseHead, length: number | undefined): void {
    assert.equal(this.status, 0, 'one head')
    Object.assign(this, { status, headers, length })
    this.started.resolve()
  }

  whole(head: ResponseHead, body: Uint8Array): void {
    this.head(head, body.byteLength)
    this.#chunks.push(Buffer.from(body))
    this.end()
  }

  chunk(bytes: Uint8Array): boolean {
    this.#chunks.push(Buffer.from(bytes))
    return !this.#isSlow
  }

  end(): void {
    this.done.resolve()
  }

  fail(error: Error): void {
    this.error = error
    this.started.resolve()
    this.done.resolve()
  }
}

/** The proxy cache of one worker. */
export class CacheWorker {
  readonly cache: ProxyCache
  readonly ledger = new PurgeLedger()
  readonly #upstream: Origin

  constructor(instance: CacheInstance) {
    this.#upstream = instance.upstream
    const { store, clock, metrics, leases, problems } = instance
    const onProblem = (error: Error) => problems.push(error)
    const desk = leases.desk()
    this.cache = new ProxyCache({
      store,
      clock,
      metrics,
      onProblem,
      ledger: this.ledger,
      leases: desk,
      passes: new PassMemory(clock),
      invalidations: new Invalidations({
        isShared: false,
        store,
        leases: desk,
        onProblem,
        order: (order) => instance.purge(order),
      }),
    })
  }

  /** Asks for a target; what comes is in the visitor. */
  ask(target: string, asked: Asked = {}): CacheVisitor {
    const { method = 'GET', host = 'a.org', headers = [], useStale = [], validSeconds, minUses = 1 } = asked
    const isRefreshedBehind = asked.isRefreshedBehind === true
    const visitor = new CacheVisitor(asked.isSlow === true)
    const [path = '', query = ''] = target.split('?')
    const address = proxyAddress({ scheme: 'http', host, path, query, label: 'site', via: ['up'] }) ?? assert.fail(target)
    const rules: CacheRules = {
      ...{ minUses, isRefreshedBehind, useStale: new Set(useStale), ignoredFields: new Set<string>() },
      validSeconds: () => validSeconds,
    }
    const origin = new CachingOrigin(this.cache, this.#upstream, {
      address,
      rules,
      isBypassed: asked.isBypassed === true,
      mustNotStore: asked.mustNotStore === true,
      report(status) {
        visitor.cacheStatus = cacheStatus({ cache: 'svc-proxy', ...status })
      },
      offer(facts) {
        visitor.offers.push(facts)
      },
    })
    origin.fetch({ method, target, headers, body: asked.body }, visitor)
    return visitor
  }

  /** Asks for a target; what comes goes to a sink. */
  fetch(target: string, sink: ResponseSink): void {
    const address =
      proxyAddress({ scheme: 'http', host: 'a.org', path: target, query: '', label: 'site', via: ['up'] }) ?? assert.fail(target)
    const rules: CacheRules = {
      ...{ minUses: 1, isRefreshedBehind: false, useStale: new Set<string>(), ignoredFields: new Set<string>() },
      validSeconds: () => undefined,
    }
    const quiet = { isBypassed: false, mustNotStore: false, report: () => undefined, offer: () => undefined }
    const origin = new CachingOrigin(this.cache, this.#upstream, { address, rules, ...quiet })
    origin.fetch({ method: 'GET', target, headers: [], body: undefined }, sink)
  }

  /** Asks and waits for the end of the answer. */
  async get(target: string, asked: Asked = {}): Promise<CacheVisitor> {
    const visitor = this.ask(target, asked)
    await visitor.done.promise
    return visitor
  }
}

/** Workers that share a store, leases and an upstream; the store is a real one. */
export class CacheInstance {
  readonly store: ProxyStore
  readonly clock: ManualClock
  readonly upstream = new ScriptedUpstream()
  readonly leases = new InstanceLeases()
  readonly metrics = new CacheMetrics(new MetricSet())
  readonly problems: Error[] = []
  /** Orders of purges, in their order. */
  readonly orders: PurgeOrder[] = []
  /** Purges wait for this. */
  purgeGate: Promise<void> | undefined
  readonly #workers: CacheWorker[] = []
  #purges = 0

  private constructor(store: ProxyStore, clock: ManualClock) {
    this.store = store
    this.clock = clock
  }

  static async open(t: Cleanup, maxBytes = 64 << 20, cacheDir = tempDir(t, 'proxy-cache')): Promise<CacheInstance> {
    const clock = new ManualClock()
    const store = await ProxyStore.open({ cacheDir, maxBytes, clock, onProblem: (error) => assert.fail(error) })
    t.after(() => store.entries.close())
    return new CacheInstance(store, clock)
  }

  worker(): CacheWorker {
    const worker = new CacheWorker(this)
    this.#workers.push(worker)
    return worker
  }

  /** Carries out a purge as the master does. */
  async purge(order: PurgeOrder): Promise<void> {
    this.orders.push(order)
    await this.purgeGate
    const purge: Purge = { ...order, number: ++this.#purges }
    for (const { ledger, cache } of this.#workers) {
      ledger.add(purge)
      cache.purged(purge)
    }
    await this.store.entries.flushed()
    await this.store.entries.purge(purge)
    for (const { ledger } of this.#workers) ledger.settled(purge.number)
    this.store.entries.refresh()
  }

  /** Lets time pass, with all that processes send each other because of it. */
  async pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= 1_000) {
      this.clock.advance(Math.min(1_000, left))
      await new Promise(setImmediate)
    }
  }

  /** Resolves when no fill is in flight: all responses are in the store. */
  async settled(): Promise<void> {
    await waitFor('all flights end', () => this.leases.held === 0)
    await this.store.entries.flushed()
  }
}
