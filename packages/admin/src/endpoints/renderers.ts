import type { RestartStatus } from '@svc/protocol'
import type { ControlPlane } from '../contract/control-plane.ts'
import { type Endpoint, type EndpointRequest, type EndpointResult, jsonAnswer } from '../contract/endpoint.ts'
import { stringOf } from '../contract/fields.ts'

const waitField = { type: 'string', format: 'flag', description: '1: answers when the restart has finished.' } as const

const siteField = { type: 'string', isRequired: true, description: 'Id of the site.' } as const

function progress({ id, state, replaced, total, error }: RestartStatus): Record<string, unknown> {
  return { ok: state !== 'failed', restart_id: id, state, replaced, total, ...(error === undefined ? {} : { error }) }
}

async function restart(plane: ControlPlane, { query }: EndpointRequest): Promise<EndpointResult> {
  const begun = await plane.renderers.restart()
  if (stringOf(query, 'wait') !== '1') {
    return jsonAnswer(202, { ok: true, restart_id: begun.id, render_workers: begun.total })
  }
  const ended = (await plane.renderers.restartStatus(begun.id, true)) ?? begun
  if (ended.state === 'failed') {
    const detail = `${ended.replaced} of ${ended.total} render hosts were replaced. The log has the reason.`
    return { problem: { status: 500, code: 'restart_failed', detail } }
  }
  return jsonAnswer(200, { ...progress(ended), render_workers: ended.total })
}

async function restartStatus(plane: ControlPlane, { params, query }: EndpointRequest): Promise<EndpointResult> {
  const status = await plane.renderers.restartStatus(params['id'] ?? '', stringOf(query, 'wait') === '1')
  if (status === undefined) return { problem: { status: 404, code: 'unknown_restart', detail: 'No such restart.' } }
  return jsonAnswer(200, progress(status))
}

async function isolates(plane: ControlPlane): Promise<EndpointResult> {
  return jsonAnswer(200, { ok: true, pools: await plane.renderers.isolates() })
}

async function modules(plane: ControlPlane, { query }: EndpointRequest): Promise<EndpointResult> {
  const site = stringOf(query, 'site') ?? ''
  return jsonAnswer(200, { ok: true, site, isolates: await plane.renderers.modules(site) })
}

async function router(plane: ControlPlane): Promise<EndpointResult> {
  const sites = plane.sites.list().map(async (site) => {
    const { id, label, hostnames, anyHost, root, mode, hasApp } = site
    // The files of one site may be unreadable just now; that is a fact about it, and no reason to hide the others.
    const found = hasApp ? await plane.sites.routes(id).catch(() => undefined) : { routes: null, problems: [] }
    const table = found === undefined ? { routes: null, problems: ['the files cannot be read'] } : found
    return { id, label, hostnames, any_host: anyHost, root, mode, ...table }
  })
  const { sites: served } = plane
  return jsonAnswer(200, { ok: true, generation: served.generation(), sites: await Promise.all(sites), vhosts: served.vhosts() })
}

/** Lists the sites and their hosts, for the host itself. */
export function debugEndpoints(): Endpoint[] {
  const local = { method: 'GET', isLogged: true, group: 'maintenance', access: 'loopback' } as const
  return [
    {
      ...local,
      path: '/__svc/debug/router',
      summary: 'Lists sites with hosts and routes, and vhost servers with locations.',
      handle: router,
    },
    {
      ...local,
      path: '/__svc/debug/modules',
      summary: 'Lists the compiled modules of each isolate of a site, with their imports.',
      query: { site: siteField },
      handle: modules,
    },
    { ...local, path: '/__svc/debug/isolates', summary: 'Lists render threads by host and site.', handle: isolates },
  ]
}

/** The rolling restart, and what renders. */
export function adminRendererEndpoints(): Endpoint[] {
  const admin = { isLogged: true, group: 'admin', access: 'role' } as const
  return [
    {
      ...admin,
      method: 'POST',
      path: '/__svc/admin/api/workers/restart',
      summary: 'Replaces all render workers, one after another.',
      query: { wait: waitField },
      handle: restart,
    },
    {
      ...admin,
      method: 'GET',
      path: '/__svc/admin/api/workers/restart/:id',
      summary: 'Shows the progress of a rolling restart.',
      query: { wait: waitField },
      handle: restartStatus,
    },
    {
      ...admin,
      method: 'GET',
      path: '/__svc/admin/api/isolates',
      summary: 'Lists render threads by host and site.',
      handle: isolates,
    },
  ]
}
