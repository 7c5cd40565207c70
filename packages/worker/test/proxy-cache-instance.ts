import assert from 'node:assert/strict'
import { PassMemory, ProxyStore, type Purge, PurgeLedger, type PurgeOrder, proxyAddress } from '@svc/cache'
import { type Deferred, deferred } from '@svc/core'
import { cacheStatus, type HeaderList, type RequestBody, type ResponseHead } from '@svc/http'
import { CacheMetrics, MetricSet } from '@svc/telemetry'
import { type Cleanup, ManualClock, tempDir, waitFor } from '@svc/testkit'
import type { Origin, OriginHandle, OriginRequest, OriginSink } from '../../upstream/src/origin/origin.ts'
import type { CacheRules, OfferedFacts } from '../src/proxy-cache/cache-ask.ts'
import { CachingOrigin } from '../src/proxy-cache/caching-origin.ts'
import { Invalidations } from '../src/proxy-cache/invalidations.ts'
import { ProxyCache } from '../src/proxy-cache/proxy-cache.ts'
import { InstanceLeases } from './isr-instance.ts'

/** A request that has come to the upstream of a test. */
export class UpstreamRequest {
  readonly request: OriginRequest
  readonly #sink: OriginSink
  isAborted = false
  /** Chunks that were not acknowledged yet. */
  unacked = 0

  constructor(request: OriginRequest, sink: OriginSink) {
    this.request = request
    this.#sink = sink
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
    const { promise, resolve } = deferred<void>()
    this.unacked++
    const ack = () => {
      this.unacked--
      resolve()
    }
    if (!this.isAborted) this.#sink.chunk(Buffer.from(text as string), ack)
    return promise
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

  fetch(request: OriginRequest, sink: OriginSink): OriginHandle {
    const asked = new UpstreamRequest(request, sink)
    this.requests.push(asked)
    this.auto?.(asked, this.requests.length)
    return {
      abort() {
        asked.isAborted = true
      },
    }
  }

  /** The n-th request, counted from 0, once it has come. */
  async request(index = 0): Promise<UpstreamRequest> {
    await waitFor(`request ${index} of the upstream`, () => this.requests.length > index)
    return this.requests[index] ?? assert.fail()
  }
}

/** What a client of the cache asks. */
export interface Asked {
  readonly method?: string
  readonly host?: string
  readonly headers?: HeaderList
  readonly body?: RequestBody
  readonly useStale?: readonly string[]
  readonly validSeconds?: number
  readonly isBypassed?: boolean
  readonly isUnkept?: boolean
  /** Acknowledge nothing before `takeAll`. */
  readonly isSlow?: boolean
}

/** A client, and what it has got so far. */
export class CacheVisitor implements OriginSink {
  readonly done: Deferred<void> = deferred()
  readonly started: Deferred<void> = deferred()
  status = 0
  headers: HeaderList = []
  length: number | undefined
  cacheStatus = ''
  error: Error | undefined
  readonly offers: OfferedFacts[] = []
  handle: OriginHandle | undefined
  #chunks: Uint8Array[] = []
  #acks: (() => void)[] = []
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
    for (const ack of this.#acks.splice(0)) ack()
  }

  informational(): void {
    // Not the business of a cache.
  }

  head({ status, headers }: ResponseHead, length: number | undefined): void {
    assert.equal(this.status, 0, 'one head')
    Object.assign(this, { status, headers, length })
    this.started.resolve()
  }

  chunk(bytes: Uint8Array, ack: () => void): void {
    this.#chunks.push(Buffer.from(bytes))
    if (this.#isSlow) this.#acks.push(ack)
    else ack()
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
      invalidations: new Invalidations({ store, leases: desk, onProblem, order: (order) => instance.purge(order) }),
    })
  }

  /** Asks for a target; what comes is in the visitor. */
  ask(target: string, asked: Asked = {}): CacheVisitor {
    const { method = 'GET', host = 'a.org', headers = [], useStale = [], validSeconds } = asked
    const visitor = new CacheVisitor(asked.isSlow === true)
    const [path = '', query = ''] = target.split('?')
    const address = proxyAddress({ scheme: 'http', host, path, query, label: 'site', via: ['up'] }) ?? assert.fail(target)
    const rules: CacheRules = { useStale: new Set(useStale), validSeconds: () => validSeconds }
    const origin = new CachingOrigin(this.cache, this.#upstream, {
      address,
      rules,
      isBypassed: asked.isBypassed === true,
      isUnkept: asked.isUnkept === true,
      report(status) {
        visitor.cacheStatus = cacheStatus({ cache: 'svc-proxy', ...status })
      },
      offer(facts) {
        visitor.offers.push(facts)
      },
    })
    visitor.handle = origin.fetch({ method, target, headers, body: asked.body }, visitor)
    return visitor
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
    t.after(() => store.close())
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
    await this.store.flushed()
    await this.store.purge(purge)
    for (const { ledger } of this.#workers) ledger.settled(purge.number)
    this.store.refresh()
  }

  /** Resolves when nothing is under way: what was answered lies in the store. */
  async settled(): Promise<void> {
    await waitFor('all flights end', () => this.leases.held === 0)
    await this.store.flushed()
  }
}
