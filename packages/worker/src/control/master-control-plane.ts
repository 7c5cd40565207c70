import type { ControlPlane, Purges, Renderers, Sites } from '@svc/admin'
import { hasApp } from '@svc/config'
import type { RpcPeer } from '@svc/core'
import type { masterMethods, workerMethods } from '@svc/protocol'
import type { ServingGeneration } from '../generation/serving-generation.ts'
import { hostsBeside } from './hosts-beside.ts'
import { vhostFacts } from './vhost-facts.ts'

/** The line to the master. */
export type MasterPeer = RpcPeer<typeof workerMethods, typeof masterMethods>

/** What a control plane is made of. */
export interface ControlPlaneParts {
  readonly master: Pick<MasterPeer, 'call'>
  readonly generation: () => ServingGeneration
  readonly isDraining: () => boolean
}

const ANSWER = { timeoutMs: 5_000 } as const
/** A purge waits for processes that have to be killed, a flush for isolates that compile. */
const WORK = { timeoutMs: 90_000 } as const
/** Who waits for the end of a rolling restart waits as long as it takes. */
const WAIT = { timeoutMs: 600_000 } as const

function purgesOf({ master }: ControlPlaneParts): Purges {
  return {
    purge: (order) => master.call('purge', { order }, WORK),
    purgeModules: async (purge) => (await master.call('purgeModules', purge, WORK)).evicted,
    resetApp: (root) => master.call('resetApp', { root }, WORK),
    stats: async () => (await master.call('cacheStats', undefined, ANSWER)).stats as Record<string, unknown>,
  }
}

function renderersOf({ master }: ControlPlaneParts): Renderers {
  return {
    flush: async (site) => (await master.call('flushIsolates', { site }, WORK)).isolates,
    restart: () => master.call('restartRenderers', undefined, ANSWER),
    restartStatus: async (id, wait) => (await master.call('restartStatus', { id, wait }, wait ? WAIT : ANSWER)).status,
    modules: async (site) => (await master.call('modules', { site }, WORK)).isolates,
    isolates: async () => (await master.call('isolates', undefined, ANSWER)).pools,
  }
}

function sitesOf({ master, generation }: ControlPlaneParts): Sites {
  return {
    generation: () => generation().number,
    list: () =>
      generation().spec.sites.map((site) => {
        const { id, label, hostnames, any_host: anyHost, root, mode } = site
        return { id, label, hostnames, anyHost, root, mode, hasApp: hasApp(site) }
      }),
    vhosts: () => vhostFacts(generation().spec.web),
    hostsBeside: (host) => hostsBeside(generation(), host),
    routes: (site) => master.call('siteInfo', { site }, ANSWER),
  }
}

/** The control plane as a worker has it: what concerns the whole instance goes to the master. */
export function createControlPlane(parts: ControlPlaneParts): ControlPlane {
  const { master, isDraining } = parts
  return {
    health: () => master.call('health', undefined, ANSWER),
    metrics: async () => (await master.call('metrics', undefined, ANSWER)).text,
    isDraining,
    purges: purgesOf(parts),
    renderers: renderersOf(parts),
    sites: sitesOf(parts),
  }
}
