import type { Config } from '@svc/config'
import type { RenderRequest } from '@svc/protocol'
import type { SiteApp, SiteRuntime } from '../generation/site-runtime.ts'
import type { HostBinding, PageAddress } from './page-address.ts'
import { type BackgroundRender, settingsOf } from './page-request.ts'

/** A page to render for the store. */
export interface PageTarget {
  /** Normalised. */
  readonly path: string
  /** Without "?". */
  readonly query: string
  /** Scheme and host that the page is for; undefined: it depends on no host. */
  readonly origin?: string | undefined
}

/** The render of a page that no client waits for; undefined: no route answers its path. */
export function backgroundOf(site: SiteRuntime, app: SiteApp, target: PageTarget, config: Config): BackgroundRender | undefined {
  const match = app.routes.match(target.path)
  if (match === undefined || match.redirect !== undefined) return undefined
  const { route, params } = match
  const origin = target.origin ?? originOf(site)
  const address: PageAddress = {
    label: site.config.label,
    path: target.path,
    query: target.query,
    origin,
    hostname: new URL(origin).hostname,
    binding: bindingOf(site, target.origin),
    kind: route.kind,
    pattern: route.pattern,
  }
  const request: RenderRequest = {
    ...requestOf(site, app, target),
    kind: route.kind,
    route: route.id,
    params: params as RenderRequest['params'],
  }
  return {
    address,
    settings: settingsOf(config),
    request,
    isInService: () => !site.isRetired,
    onOutdated: () => site.forget(),
  }
}

/** A request that names no client. */
export function requestOf(
  site: SiteRuntime,
  app: SiteApp,
  { path, query, origin = originOf(site) }: PageTarget,
): Omit<RenderRequest, 'kind' | 'route'> {
  return {
    site: site.config.id,
    manifestVersion: app.manifest.version,
    params: {},
    requestId: `warm ${path}`,
    method: 'GET',
    url: `${origin}${path}${query === '' ? '' : `?${query}`}`,
    headers: [['host', new URL(origin).host]],
    remoteAddress: '',
    mayStream: false,
  }
}

function originOf({ config }: SiteRuntime): string {
  return `http://${config.hostnames.find((name) => !name.includes('*') && !name.startsWith('.')) ?? 'localhost'}`
}

/** A page that turns out to name its host, although it is for none, is rendered for the hosts that are requested. */
function bindingOf({ config }: SiteRuntime, origin: string | undefined): HostBinding {
  if (origin === undefined) return 'unknown'
  return config.hostnames.includes(new URL(origin).hostname) ? 'own' : 'open'
}
