import type { Purge, PurgeOrder, PurgeState } from '@svc/cache'
import { type Guarded, guard } from '@svc/core'

/** A numbered purge on its way from the master to every process that keeps or makes entries. */
export const purgeMessage = guard.object({ purge: guard.anything as guard.Guard<Purge> })
export const purgeOrder = guard.anything as guard.Guard<PurgeOrder>
export const purgeState = guard.anything as guard.Guard<PurgeState>

/** Result of a purge, once no process of the instance serves purged entries. */
export const purgeOutcome = guard.object({
  /** Instances that have carried it out, with this one, of those that are known. */
  instances: guard.object({ acked: guard.number, known: guard.number }),
  /** The cache that the instances share: purged, or left alone until Redis is back. Absent: there is none. */
  l2: guard.optional(guard.oneOf('purged', 'deferred')),
  number: guard.number,
  /** Entries dropped or marked, by layer; L0 summed over all workers. */
  l0: guard.number,
  isr: guard.number,
  proxy: guard.number,
  workersAcked: guard.number,
  workersTotal: guard.number,
  tookMs: guard.number,
})
export type PurgeOutcome = Guarded<typeof purgeOutcome>

/** The end of a lease: the entry is in the store, the response cannot be stored, or there was none. */
export const leaseOutcome = guard.oneOf('stored', 'pass', 'failed')
export type LeaseOutcome = Guarded<typeof leaseOutcome>

/** The answer to a request for a lease: the requester holds it now (`id`), or another had it and it ended. */
export const leaseReply = guard.object({
  granted: guard.boolean,
  /** To be given back with `leaseEnded`; 0 when not granted. */
  id: guard.number,
  outcome: guard.optional(leaseOutcome),
})
export type LeaseReply = Guarded<typeof leaseReply>

/** Compiled modules to evict. */
export const modulePurge = guard.object({
  /** Absolute files; their transitive dependents go too. */
  paths: guard.optional(guard.arrayOf(guard.string)),
  /** Absolute directory: everything below it. Without both: everything. */
  dir: guard.optional(guard.string),
})
export type ModulePurge = Guarded<typeof modulePurge>

/** A rolling restart of the render workers. */
export const restartStatus = guard.object({
  id: guard.string,
  state: guard.oneOf('running', 'done', 'failed'),
  replaced: guard.number,
  total: guard.number,
  error: guard.optional(guard.string),
})
export type RestartStatus = Guarded<typeof restartStatus>

/** Memory caches of one worker. */
export const workerCacheStats = guard.object({ l0Entries: guard.number, l0Bytes: guard.number })
export type WorkerCacheStats = Guarded<typeof workerCacheStats>

/** Result of a reset of a site by its app directory; `roots`: the known directories, when no site has this one. */
export const appReset = guard.object({
  sites: guard.arrayOf(guard.string),
  roots: guard.arrayOf(guard.string),
  /** Compiled modules that were forgotten. */
  evicted: guard.number,
  /** Entries that were dropped or marked as stale. */
  l0: guard.number,
  isr: guard.number,
})
export type AppReset = Guarded<typeof appReset>

/** A compiled module that an isolate has. */
export const loadedModule = guard.object({
  /** Absolute real path of its source. */
  file: guard.string,
  /** Kind of source and output: `esm`, `cjs`, `css` or `json`. */
  format: guard.string,
  /** Files that it imports. */
  imports: guard.arrayOf(guard.string),
})
export type LoadedModule = Guarded<typeof loadedModule>

/** The modules of one isolate of a site. */
export const isolateModules = guard.object({
  host: guard.string,
  pid: guard.number,
  modules: guard.arrayOf(loadedModule),
})
export type IsolateModules = Guarded<typeof isolateModules>

/** Render threads of one site in one host; each has one isolate. */
export const isolatePool = guard.object({
  host: guard.string,
  pid: guard.number,
  site: guard.string,
  threads: guard.number,
  active: guard.number,
  queued: guard.number,
})
export type IsolatePool = Guarded<typeof isolatePool>

/** `ending`: it takes no new request, since a fresh isolate has its place. */
const isolateState = guard.oneOf('starting', 'idle', 'busy', 'ending')

/** One isolate, as its render host knows it. */
export const hostIsolate = guard.object({
  site: guard.string,
  /** Number of its thread in the process of the host. */
  thread: guard.number,
  state: isolateState,
  /** Milliseconds since the epoch; absent: its thread has had no request yet, or lost the isolate before. */
  startedAt: guard.optional(guard.number),
  /** Milliseconds from the beginning of its creation until it took requests; 0: none was built yet, or since a flush. */
  lastBuildMs: guard.number,
  /** Absent: it did not tell in time, since its code runs. */
  heapBytes: guard.optional(guard.number),
  /** Requests that came to it. */
  requests: guard.number,
})
export type HostIsolate = Guarded<typeof hostIsolate>

/** One isolate for display. */
const isolateReport = guard.object({
  site: guard.string,
  label: guard.string,
  host: guard.string,
  thread: guard.number,
  state: isolateState,
  started_at: guard.nullable(guard.string),
  last_build_ms: guard.number,
  heap_bytes: guard.nullable(guard.number),
  requests: guard.number,
})

/** The isolates of the hosts that answered in time. */
export const isolateList = guard.object({
  isolates: guard.arrayOf(isolateReport),
  /** Hosts that did not. */
  missing: guard.arrayOf(guard.string),
})
export type IsolateList = Guarded<typeof isolateList>

/** The share of one label in a store. */
const labelShare = guard.object({
  label: guard.string,
  cache_weight: guard.number,
  entries: guard.number,
  bytes: guard.number,
  evictions: guard.number,
})

/** Figures of all cache layers, for display. */
export const cacheReport = guard.object({
  l0: guard.object({ entries: guard.number, bytes: guard.number, max_bytes: guard.number, workers: guard.number }),
  isr: guard.object({
    entries: guard.number,
    bytes: guard.number,
    max_entries: guard.number,
    max_bytes: guard.number,
    /** Those with the largest shares. */
    sites: guard.arrayOf(labelShare),
  }),
  proxy: guard.object({
    entries: guard.number,
    bytes: guard.number,
    max_bytes: guard.number,
    sites: guard.arrayOf(labelShare),
  }),
  isolates: guard.object({ hosts: guard.number, threads: guard.number }),
  leases: guard.object({ held: guard.number, waiting: guard.number }),
  /** Number of the last purge, and of purges that not every process has noted yet. */
  purges: guard.object({ last: guard.number, unsettled: guard.number }),
})
export type CacheReport = Guarded<typeof cacheReport>
