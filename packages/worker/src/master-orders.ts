import type { Purge, PurgeState } from '@svc/cache'
import type { Handlers } from '@svc/core'
import { type HostEndpoint, type KnownServers, type PackedGeneration, unpackGeneration, type workerMethods } from '@svc/protocol'
import { MASTER_TIMEOUT_MS, type WorkerComponents } from './components.ts'
import { buildGeneration, retireSites } from './generation/serving-generation.ts'
import { l0Entries, l0Entry } from './l0/l0-entries.ts'
import { runTask } from './tasks/run-task.ts'

/** Handles the orders of the master to its worker. */
export function masterOrders(components: WorkerComponents): Handlers<typeof workerMethods> {
  const { engine, generations, hosts, isr, l0, ledger, limiter, onExchange, plugins, proofs, proxyCache, revocations, warmer } =
    components
  const knownServers: KnownServers = new Map()
  return {
    prepare({ spec, hosts: endpoints, purges, revocations: revoked, pluginsOff = [] }) {
      for (const order of pluginsOff) plugins.setOff(order)
      if (revoked !== undefined) revocations.add(revoked, Date.now())
      return prepare(components, { packed: spec, knownServers, endpoints, purges })
    },
    commit: ({ generation }) => commit(components, generation),
    abandon({ generation }) {
      components.generations.abandon(generation)
      engine.abandon(generation)
      return undefined
    },
    hosts({ hosts: endpoints }) {
      hosts.update(endpoints)
      return undefined
    },
    proofs({ proofs: published }) {
      proofs.clear()
      for (const { token, proof } of published) proofs.set(token, proof)
      return undefined
    },
    siteChanged: ({ site }) => siteChanged(components, site),
    purge: ({ purge: order }) => purge(components, order),
    revocations(revoked) {
      revocations.add(revoked, Date.now())
      return undefined
    },
    purgeSettled({ number }) {
      isr.refresh()
      proxyCache.refresh()
      ledger.settled(number)
      return undefined
    },
    unblockClient({ client }) {
      limiter.unblock(client)
      return undefined
    },
    warm({ site }) {
      warmer.add(site)
      return undefined
    },
    runTask: (order, call) => runTask({ generation: generations.current, handle: onExchange }, order, call),
    setPluginOff(order) {
      plugins.setOff(order)
      return undefined
    },
    plugins: () => ({ plugins: plugins.report() }),
    cacheStats: () => l0.stats(),
    l0Entries: (query) => l0Entries(l0.admission, query),
    l0Entry: (lookup) => l0Entry(l0.admission, lookup),
    upstreams: () => components.upstreams.report(),
    flows: (query) => ({ flows: components.flows.list(query) }),
    followFlows: (_, context) => components.flows.follow(context),
    drain: ({ timeoutMs }) => drain(components, timeoutMs),
    cut() {
      engine.cut()
      return undefined
    },
    ping: () => ({ connections: engine.connections, inFlight: engine.inFlight }),
    async metrics() {
      const { httpMetrics } = components
      httpMetrics.activeConnections.value = engine.connections
      httpMetrics.connections.value = engine.accepted
      httpMetrics.inFlight.value = engine.inFlight
      return { metrics: components.metrics.toJson() }
    },
  }
}

interface PrepareOrder {
  readonly packed: PackedGeneration
  readonly knownServers: KnownServers
  readonly endpoints: readonly HostEndpoint[]
  readonly purges: PurgeState | undefined
}

async function prepare(
  components: WorkerComponents,
  { packed, knownServers, endpoints, purges }: PrepareOrder,
): Promise<undefined> {
  const { engine, generations, hosts, isr, log, plugins, proxyCache, redis, renderer, rules, tracer, upstreams, vhosts, waf } =
    components
  // In this turn: purges that come while the generation is unpacked are later ones.
  if (purges !== undefined) takePurges(components, purges)
  const spec = await unpackGeneration(packed, knownServers)
  await redis.prepare(spec.config)
  await tracer.prepare(spec.config)
  await isr.prepare(spec.config)
  await proxyCache.prepare(spec.config)
  const next = buildGeneration(spec, generations.inService, { renderer, onProblem: log.onProblem })
  generations.add(next)
  hosts.update(endpoints)
  await next.prepareRoutes()
  const handlers = upstreams.prepare(next)
  await vhosts.prepare(next, handlers)
  await rules.prepare(next, handlers)
  await waf.firewalls.prepare(next)
  await plugins.prepare(next)
  await engine.prepare(spec)
  return undefined
}

function takePurges({ l0, ledger }: WorkerComponents, purges: PurgeState): void {
  // Only the number of a missed purge is known: it may concern anything in L0.
  if (purges.last > ledger.last) l0.clear()
  ledger.reset(purges)
}

async function commit(
  { engine, generations, hosts, l0, limiter, log, master, plugins, tracer, upstreams }: WorkerComponents,
  number: number,
): Promise<undefined> {
  const next = generations.prepared(number)
  await engine.open(next.spec)
  const previous = generations.serve(next)
  engine.serve(next.spec)
  if (engine.wearsOut()) master.notify('wornOut', { reason: 'certificates were replaced many times' })
  retireSites(previous, next)
  upstreams.serve(next)
  hosts.sitesChanged((site) => next.sites.has(site))
  limiter.apply(next.config)
  l0.apply(next, previous)
  plugins.serve(next, previous === undefined)
  log.apply(next, previous)
  tracer.apply(next.config)
  await master.call('ready', { generation: number, pid: process.pid }, { timeoutMs: MASTER_TIMEOUT_MS })
  return undefined
}

/** A site that is both in service and prepared is notified twice: it may be two objects. */
function siteChanged({ generations, isr }: WorkerComponents, id: string): undefined {
  for (const generation of generations.all()) {
    const site = generation.sites.get(id)
    if (site === undefined) continue
    site.forget()
    isr.siteChanged(site.config.label)
  }
  return undefined
}

async function purge({ isr, l0, ledger, plugins, proxyCache }: WorkerComponents, order: Purge): Promise<{ l0: number }> {
  ledger.add(order)
  const dropped = l0.purge(order)
  plugins.purged(order.layers)
  await Promise.all([isr.purged(order), proxyCache.purged(order)])
  return { l0: dropped }
}

async function drain(components: WorkerComponents, timeoutMs: number): Promise<{ cut: number }> {
  const { draining, engine, eventStreams, hosts, isr, log, pages, proxyCache, redis, tracer, traffic, warmer } = components
  draining.abort()
  warmer.stop()
  pages.stop()
  const drained = engine.drain(timeoutMs)
  // Now that the engine knows that connections are to close.
  eventStreams.end()
  const result = await drained
  hosts.close()
  await isr.close()
  await proxyCache.close()
  redis.close()
  await tracer.close()
  await traffic.flush()
  await log.close()
  return result
}
