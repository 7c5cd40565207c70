import type { SiteConfig } from '@svc/config'
import { type GenerationSpec, PRODUCT_VERSION } from '@svc/protocol'

const MOST_SITES = 10
const DEFAULT_PORT = 80
const DEFAULT_TLS_PORT = 443

function addressesOf(site: SiteConfig, { listen }: GenerationSpec): string {
  const [first] = listen
  if (first === undefined) return ''
  if (first.socket !== undefined) return site.hostnames.join(' ')
  const [scheme, usual] = first.isTls === true ? ['https', DEFAULT_TLS_PORT] : ['http', DEFAULT_PORT]
  const port = first.port === usual ? '' : `:${first.port}`
  const names = site.any_host ? [first.host] : site.hostnames
  return names.map((name) => `${scheme}://${name}${port}/`).join(' ')
}

function countedSites({ sites }: GenerationSpec): string {
  return sites.length === 1 ? '1 site' : `${sites.length} sites`
}

function boundAddresses({ listen }: GenerationSpec): string {
  return listen.map(({ host, port, socket }) => (socket === undefined ? `${host}:${port}` : `unix:${socket}`)).join(', ')
}

/** Says in one line which configuration is in service. */
export function serviceLine(spec: GenerationSpec): string {
  return `generation ${spec.generation}: ${countedSites(spec)} on ${boundAddresses(spec)}`
}

/** Tells a person at a terminal which sites are served, on which addresses, and how to stop the server. */
export function startSummary(spec: GenerationSpec, tookMs: number): string {
  const shown = spec.sites.slice(0, MOST_SITES)
  const width = Math.max(0, ...shown.map((site) => site.id.length))
  const rest = spec.sites.length - shown.length
  const mode = spec.sites.some((site) => site.mode === 'development') ? ', development mode' : ''
  return [
    '',
    `  svc ${PRODUCT_VERSION} serves ${countedSites(spec)} on ${boundAddresses(spec)} (ready in ${tookMs} ms${mode})`,
    '',
    ...shown.map((site) => `  ${site.id.padEnd(width)}  ${addressesOf(site, spec)}  ${site.root}`),
    ...(rest > 0 ? [`  and ${rest} more: svc sites`] : []),
    '',
    '  Ctrl+C stops it.',
    '',
    '',
  ].join('\n')
}
