import type { Caller } from '@svc/auth'
import type { LogFilter } from '@svc/protocol'
import { AdminError } from '../errors/errors.ts'
import type { Alerts } from './alerts.ts'
import type {
  ControlPlane,
  Flows,
  Logs,
  Pages,
  PurgeOrder,
  Purges,
  Releases,
  Renderers,
  SiteSummary,
  Sites,
} from './control-plane.ts'
import { forbidden, ownAmong, requireSite } from './own-sites.ts'
import { wafFor } from './tenant-waf.ts'

/** Returns the caller of an endpoint that only users may call. @throws UNAUTHORIZED */
export function requireUser(caller: Caller): Extract<Caller, { readonly kind: 'user' }> {
  if (caller.kind === 'user') return caller
  throw new AdminError('UNAUTHORIZED', {})
}

/** The name of a caller in records; "" for the machine itself. */
export function usernameOf(caller: Caller): string {
  return caller.kind === 'user' ? caller.user.username : ''
}

/** The labels that only sites of a tenant have: a purge by label must not touch another's. */
function ownLabels(all: readonly SiteSummary[], tenant: string): string[] {
  const shared = new Set(all.filter((site) => site.tenant !== tenant).map(({ label }) => label))
  return [...new Set(all.filter((site) => site.tenant === tenant).map(({ label }) => label))].filter(
    (label) => !shared.has(label),
  )
}

function hostsOf({ scopes }: PurgeOrder): string[] {
  return scopes.flatMap((scope) => ('hosts' in scope ? (scope.hosts ?? []) : []))
}

function sitesFor(sites: Sites, tenant: string): Sites {
  const list = () => sites.list().filter((site) => site.tenant === tenant)
  const isOwn = (id: string | undefined) => list().some((site) => site.id === id)
  return {
    generation: () => sites.generation(),
    list,
    vhosts: () => sites.vhosts().filter(({ site }) => isOwn(site)),
    ofHost: (host) => {
      const id = sites.ofHost(host)
      return isOwn(id) ? id : undefined
    },
    hostsBeside: (host) => (isOwn(sites.ofHost(host)) ? sites.hostsBeside(host) : undefined),
    states: () => sites.states(),
    setMaintenance: async (id, order, username) => sites.setMaintenance(requireSite({ list }, id).id, order, username),
    routes: async (id) => sites.routes(requireSite({ list }, id).id),
  }
}

function narrowed(wanted: readonly string[] | undefined, allowed: readonly string[]): readonly string[] {
  return wanted?.filter((label) => allowed.includes(label)) ?? allowed
}

function purgesFor(purges: Purges, own: Sites, labels: () => string[]): Purges {
  return {
    purge: async (order) => {
      for (const host of hostsOf(order)) if (own.ofHost(host) === undefined) throw new AdminError('UNKNOWN_HOST', { host })
      return purges.purge({ ...order, labels: narrowed(order.labels, labels()) })
    },
    purgeModules: forbidden('purge modules'),
    resetApp: forbidden('purge an application by its directory'),
    stats: async () => {
      const { isr, proxy, ...others } = await purges.stats()
      const ownShares = (shares: typeof isr.sites) => shares.filter(({ label }) => labels().includes(label))
      const shown = { isr: { ...isr, sites: ownShares(isr.sites) }, proxy: { ...proxy, sites: ownShares(proxy.sites) } }
      return { ...others, ...shown }
    },
  }
}

function renderersFor(renderers: Renderers, own: Sites): Renderers {
  return {
    flush: async (id) => renderers.flush(requireSite(own, id).id),
    restart: forbidden('restart workers'),
    restartStatus: forbidden('see restarts of workers'),
    pools: async () => ofOwnSites(own, await renderers.pools()),
    isolates: (wanted) => renderers.isolates(ownAmong(own, wanted)),
    modules: async (id) => renderers.modules(requireSite(own, id).id),
    heapSnapshot: forbidden('take heap snapshots'),
  }
}

function releasesFor(releases: Releases, own: Sites, tenant: string): Releases {
  return {
    list: (ids) => releases.list(ownAmong(own, ids)),
    deploy: async (order) => releases.deploy({ ...order, site: requireSite(own, order.site).id, tenant }),
    rollback: async (order) => releases.rollback({ ...order, site: requireSite(own, order.site).id }),
    upload: async (order, content) => releases.upload({ ...order, site: requireSite(own, order.site).id }, content),
  }
}

/** The items that are about one of the tenant's sites. */
function ofOwnSites<Item extends { readonly site: string | null }>(own: Sites, items: readonly Item[]): Item[] {
  const ids = new Set(own.list().map(({ id }) => id))
  return items.filter(({ site }) => site !== null && ids.has(site))
}

function logsFor(logs: Logs, own: Sites): Logs {
  const ofOwn = (filter: LogFilter): LogFilter => ({ ...filter, sites: ownAmong(own, filter.sites) })
  return {
    page: (filter, range) => logs.page(ofOwn(filter), range),
    follow: (filter, follower) => logs.follow(ofOwn(filter), follower),
  }
}

function flowsFor(flows: Flows, own: Sites): Flows {
  return {
    page: (query) => flows.page({ ...query, sites: ownAmong(own, query.sites) }),
    follow: (filter, follower) => flows.follow({ ...filter, sites: ownAmong(own, filter.sites) }, follower),
  }
}

function alertsFor(alerts: Alerts, own: Sites): Alerts {
  const silences = async () => ofOwnSites(own, await alerts.silences())
  return {
    report: async () => {
      const report = await alerts.report()
      return { ...report, alerts: ofOwnSites(own, report.alerts) }
    },
    silences,
    silence: async (order) => {
      requireSite(own, order.site ?? '')
      return alerts.silence(order)
    },
    endSilence: async (id) => (await silences()).some((silence) => silence.id === id) && alerts.endSilence(id),
  }
}

/** @param labels those of the tenant */
function pagesFor(pages: Pages, own: Sites, labels: () => string[]): Pages {
  return {
    stored: (selection) => pages.stored({ ...selection, labels: narrowed(selection.labels, labels()) }),
    render: (targets) => pages.render(targets.filter(({ site }) => own.list().some(({ id }) => id === site))),
  }
}

/**
 * The control plane as the admin of a tenant has it: other sites are not there, purges take entries of its own sites only, and
 * operations on the whole instance are refused. The one place that cuts: endpoints do not know of tenants.
 */
export function planeOfTenant(plane: ControlPlane, tenant: string): ControlPlane {
  const sites = sitesFor(plane.sites, tenant)
  const labels = () => ownLabels(plane.sites.list(), tenant)
  return {
    // Its components name sites of all tenants.
    health: async () => ({ ...(await plane.health()), checks: {} }),
    metrics: () => plane.metrics(),
    isDraining: () => plane.isDraining(),
    purges: purgesFor(plane.purges, sites, labels),
    renderers: renderersFor(plane.renderers, sites),
    sites,
    // The others are about the caller's own session.
    sessions: {
      ...plane.sessions,
      users: forbidden('list users'),
      issueToken: forbidden('issue tokens'),
      list: forbidden('list sessions'),
    },
    audit: { add: (record) => plane.audit.add(record), page: forbidden('read the audit log') },
    logs: logsFor(plane.logs, sites),
    flows: flowsFor(plane.flows, sites),
    alerts: alertsFor(plane.alerts, sites),
    slos: async () => ofOwnSites(sites, await plane.slos()),
    summary: (query) => plane.summary({ sites: ownAmong(sites, query.sites) }),
    analytics: (query) => plane.analytics({ ...query, sites: ownAmong(sites, query.sites) }),
    instance: {
      status: forbidden('see the state of the instance'),
      reload: forbidden('reload the configuration'),
      config: forbidden('read the configuration'),
      values: forbidden('read the configuration'),
      preview: forbidden('read the configuration'),
      overrides: forbidden('read the configuration'),
      check: forbidden('check a configuration'),
    },
    fleet: {
      restart: forbidden('restart processes'),
      upstreams: forbidden('see upstreams'),
      setServerDown: forbidden('change upstreams'),
      countedClients: forbidden('see clients'),
      unblock: forbidden('unblock clients'),
      certificates: forbidden('see certificates'),
      renew: forbidden('renew certificates'),
    },
    tasks: {
      list: forbidden('see tasks'),
      runs: forbidden('see tasks'),
      run: forbidden('run tasks'),
      setEnabled: forbidden('change tasks'),
    },
    waf: wafFor(plane.waf, sites, tenant),
    plugins: {
      list: forbidden('see plugins'),
      setEnabled: forbidden('change plugins'),
    },
    releases: releasesFor(plane.releases, sites, tenant),
    pages: pagesFor(plane.pages, sites, labels),
    entries: {
      usage: (wanted) => plane.entries.usage(narrowed(wanted, labels())),
      list: (query) => plane.entries.list({ ...query, labels: narrowed(query.labels, labels()) }),
      find: (layer, key, wanted) => plane.entries.find(layer, key, narrowed(wanted, labels())),
      body: async (layer, key, maxBytes) =>
        (await plane.entries.find(layer, key, labels())) && plane.entries.body(layer, key, maxBytes),
    },
  }
}
