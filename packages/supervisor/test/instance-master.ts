import assert from 'node:assert/strict'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import type { TestContext } from 'node:test'
import { type Purge, type PurgedStore, PurgeLedger, type PurgeOrder, type PurgeScope } from '@svc/cache'
import { CloseStack, systemClock } from '@svc/core'
import type { PurgeMember } from '@svc/processes'
import type { GenerationSpec, Revocations } from '@svc/protocol'
import { RedisClient } from '@svc/redis'
import { createLogger } from '@svc/telemetry'
import { type RedisPeer, requireProgram, startRedis, tempDir, waitFor } from '@svc/testkit'
import { Instances } from '../src/instances/instances.ts'
import { PurgeCoordinator } from '../src/purges/purge-coordinator.ts'
import { PurgeNumbers } from '../src/purges/purge-numbers.ts'
import { SessionStore } from '../src/sessions/session-store.ts'

export const tagged = (...tags: string[]): PurgeOrder => ({ layers: ['isr'], scopes: [{ kind: 'tags', tags }], mode: 'drop' })
const noStore: PurgedStore = { purge: async () => 0, beginPurge: async () => ({ count: 0, followed: undefined }) }

/** A worker that only notes purges. */
class ScriptedWorker implements PurgeMember {
  readonly name = 'worker'
  readonly isBooting = false
  readonly exited = Promise.withResolvers<undefined>().promise
  readonly ledger: PurgeLedger
  readonly scopes: PurgeScope[] = []
  /** Purges are confirmed after this. */
  gate: Promise<void> | undefined

  constructor(purges: PurgeCoordinator) {
    this.ledger = new PurgeLedger(purges.workerState())
  }

  async purge(purge: Purge): Promise<number> {
    this.ledger.add(purge)
    this.scopes.push(...purge.scopes)
    await this.gate
    return 0
  }

  settled(number: number): void {
    this.ledger.settled(number)
  }

  kill(): void {
    assert.fail('no worker is killed')
  }
}

/** The part of a master that purges. */
export class Master {
  readonly stateDir: string
  readonly logged: string[] = []
  /** Purges that it has carried out. */
  readonly done: Purge[] = []
  purges!: PurgeCoordinator
  worker!: ScriptedWorker
  instances!: Instances
  sessions!: SessionStore
  #stack = new CloseStack((step, error) => assert.fail(`${step}: ${error.message}`))

  constructor(stateDir: string) {
    this.stateDir = stateDir
  }

  async start(url: string, instanceId: string): Promise<this> {
    const config = {
      redis: { url, key_prefix: 't:' },
      scaling: { instance_id: instanceId },
      server: { state_dir: this.stateDir },
    }
    const spec = () => ({ config, sites: [{ label: 'blog' }, { label: 'shop' }] }) as unknown as GenerationSpec
    const logger = createLogger({
      level: 'info',
      format: 'json',
      base: {},
      destination: new Writable({ write: (_chunk, _encoding, done) => done() }),
      onLine: ({ text }) => this.logged.push(text),
    })
    const numbers = await PurgeNumbers.open(join(this.stateDir, 'purge-number'), 1)
    let instances: Instances | undefined
    let worker: ScriptedWorker | undefined
    this.purges = new PurgeCoordinator({
      numbers,
      stores: { isr: noStore, proxy: noStore },
      hosts: () => [],
      workers: () => (worker === undefined ? [] : [worker]),
      onDone: (purge) => this.done.push(purge),
      publisher: () => instances?.publisher,
      ackTimeoutMs: 60_000,
      clock: systemClock,
      logger,
    })
    this.#stack = new CloseStack((step, error) => assert.fail(`${step}: ${error.message}`))
    const store = await SessionStore.open({ file: join(this.stateDir, 'sessions.json'), clock: systemClock, logger })
    this.sessions = store
    const revocations = { all: () => store.revocations, merge: async (ofOthers: Revocations) => store.merge(ofOthers)?.saved }
    instances = await Instances.open({ spec, purges: this.purges, revocations, clock: systemClock, logger }, this.#stack)
    assert.ok(instances)
    this.instances = instances
    await instances.join()
    // A worker joins once the master has caught up.
    worker = new ScriptedWorker(this.purges)
    this.worker = worker
    return this
  }

  stop(): Promise<unknown> {
    return this.#stack.close()
  }

  /** Ends a token of a user, as a logout does. */
  async revoke(jti: string, username = 'vera', expiresAt = Date.now() + 600_000): Promise<void> {
    const revoked = this.sessions.revoke({ jti, holder: { username, expiresAt } })
    assert.ok(revoked)
    await Promise.all([revoked.saved, this.instances.revocations.share(revoked.ended)])
  }

  /** Tokens that this instance does not accept. */
  get revoked(): string[] {
    return this.sessions.revocations.tokens.map(({ jti }) => jti).sort()
  }

  tags(): string[] {
    return this.worker.scopes.flatMap((scope) => (scope.kind === 'tags' ? scope.tags : scope.kind))
  }
}

interface World {
  readonly program: string
  redis: RedisPeer
  master(name: string, stateDir?: string): Promise<Master>
}

export async function world(t: TestContext): Promise<World | undefined> {
  const program = requireProgram(t, 'redis-server')
  if (program === undefined) return undefined
  const found: World = {
    program,
    redis: await startRedis(t, program),
    async master(name, stateDir = tempDir(t, name)) {
      const master = await new Master(stateDir).start(found.redis.url, name)
      t.after(() => master.stop())
      return master
    },
  }
  return found
}

/** A client for the Redis of a test. */
export async function clientOf(t: TestContext, { redis }: World): Promise<RedisClient> {
  const client = new RedisClient({ url: redis.url, connections: 1, name: 'test', clock: systemClock, deadlineMs: 30_000 })
  t.after(() => client.close())
  await client.ready(10_000)
  return client
}

/** Both know each other. */
export async function introduced(a: Master, b: Master): Promise<void> {
  for (const master of [a, b]) {
    await waitFor('the instances know each other', async () => (await master.purges.purge(tagged('hello'))).instances.known === 2)
  }
  await waitFor('both have both', () => [a, b].every((master) => master.tags().length >= 2))
  for (const { worker } of [a, b]) worker.scopes.length = 0
}
