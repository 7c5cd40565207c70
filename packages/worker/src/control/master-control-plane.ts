import type { ControlPlane, Purges, Renderers, Sites, VhostSummary } from '@svc/admin'
import { hasApp } from '@svc/config'
import type { RpcPeer } from '@svc/core'
import { parseHost } from '@svc/http'
import type { masterMethods, workerMethods } from '@svc/protocol'
import type { ContentSpec, LocationMatch, ServerNameSpec, WebSpec } from '@svc/vhosts'
import type { ServingGeneration } from '../generation/serving-generation.ts'

/** The line to the master. */
export type MasterPeer = RpcPeer<typeof workerMethods, typeof masterMethods>

/** Dependencies of a control plane. */
interface ControlPlaneParts {
  readonly master: Pick<MasterPeer, 'call'>
  readonly generation: () => ServingGeneration
  readonly isDraining: () => boolean
}

const ANSWER = { timeoutMs: 5_000 } as const
/** A purge waits for processes that have to be killed, a flush for isolates that compile. */
const WORK = { timeoutMs: 90_000 } as const
/** A call that waits for the end of a rolling restart has no time limit. */
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
        const { id, tenant, label, hostnames, any_host: anyHost, root, mode } = site
        return { id, tenant, label, hostnames, anyHost, root, mode, hasApp: hasApp(site) }
      }),
    vhosts: () => vhostSummaries(generation().spec.web),
    ofHost: (host) => {
      const match = generation().matchHost(host)
      return match === undefined || match.kind === 'default' ? undefined : match.value.config.id
    },
    hostsBeside: (host) => hostsBeside(generation(), host),
    routes: (site) => master.call('siteInfo', { site }, ANSWER),
  }
}

/** The control plane of a worker: calls that concern the whole instance go to the master. */
export function createControlPlane(parts: ControlPlaneParts): ControlPlane {
  const { master, isDraining } = parts
  return {
    health: () => master.call('health', undefined, ANSWER),
    metrics: async () => (await master.call('metrics', undefined, ANSWER)).text,
    isDraining,
    purges: purgesOf(parts),
    renderers: renderersOf(parts),
    sites: sitesOf(parts),
    audit: {
      add: (record) => master.call('audit', record, ANSWER),
      page: (limit, before) => master.call('auditLog', { limit, before }, ANSWER),
    },
  }
}

/**
 * The host names under which the pages of a host may be kept: the exact names of the site that claims it, and this one. Undefined
 * when no site claims the host, but one gets it for want of another.
 */
export function hostsBeside(generation: Pick<ServingGeneration, 'matchHost'>, host: string): readonly string[] | undefined {
  const match = generation.matchHost(host)
  const parsed = parseHost(host)
  if (match === undefined || match.kind === 'default' || parsed === 'bad_host') return undefined
  const exact = match.value.config.hostnames.filter((name) => !name.includes('*'))
  return [...new Set([parsed.hostname, ...exact])]
}

/** The servers of vhost files as endpoints list them. */
export function vhostSummaries({ servers }: WebSpec): readonly VhostSummary[] {
  return servers.map(({ site, place, listen, names, locations, fallback }) => ({
    site,
    place,
    listen: listen.map(({ address }) => address),
    default_for: listen.filter(({ isDefault }) => isDefault).map(({ address }) => address),
    names: names.map(nameOf),
    locations: [
      ...locations.map((location) => ({
        ...contentOf(location.content),
        match: matchOf(location.match),
        place: location.place,
      })),
      { ...contentOf(fallback.content), match: '', place },
    ],
  }))
}

function nameOf(spec: ServerNameSpec): string {
  return text(spec.kind === 'name' ? spec.name : `~${spec.pattern.source}`)
}

function matchOf(match: LocationMatch): string {
  switch (match.kind) {
    case 'exact':
      return text(`= ${match.path}`)
    case 'prefix':
      return text(match.isFirst ? `^~ ${match.path}` : match.path)
    case 'pattern':
      return text(`~ ${match.pattern.source}`)
    case 'named':
      return `@${text(match.name)}`
  }
}

function contentOf(content: ContentSpec): { readonly content: string; readonly target: string } {
  switch (content.kind) {
    case 'files':
      return { content: 'files', target: '' }
    case 'app':
      return { content: 'app', target: content.site }
    case 'proxy':
    case 'fastcgi':
      return { content: content.kind, target: content.target.kind === 'fixed' ? content.target.upstream : 'computed' }
  }
}

/** Texts of vhost files have one character for each byte. */
function text(bytes: string): string {
  return Buffer.from(bytes, 'latin1').toString('utf8')
}
