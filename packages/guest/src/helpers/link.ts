import { reactRuntime } from '../react/react-runtime.ts'
import { element } from './element.ts'

/** The parts of a URL as `href` may have them. */
interface UrlObject {
  readonly protocol?: string
  readonly host?: string
  readonly hostname?: string
  readonly port?: string | number
  readonly pathname?: string
  readonly query?: string | Readonly<Record<string, unknown>>
  readonly search?: string
  readonly hash?: string
}

/** Props of a link: those of `<a>`, and Next's own, which are about client navigation and have no effect. */
interface LinkProps {
  readonly href: string | URL | UrlObject
  readonly as?: string | UrlObject
  readonly prefetch?: unknown
  readonly replace?: unknown
  readonly scroll?: unknown
  readonly shallow?: unknown
  readonly passHref?: unknown
  readonly locale?: unknown
  readonly onNavigate?: unknown
  readonly unstable_dynamicOnHover?: unknown
  readonly legacyBehavior?: boolean
  readonly children?: unknown
  readonly [attribute: string]: unknown
}

/** A plain `<a>`. */
export function Link(props: LinkProps): unknown {
  const { href, as, prefetch, replace, scroll, shallow, passHref, locale, onNavigate, legacyBehavior, ...rest } = props
  const { unstable_dynamicOnHover, children, ...attributes } = rest
  const target = hrefText(as ?? href)
  if (legacyBehavior !== true) return element('a', { ...attributes, href: target, children })
  if (typeof children === 'string' || typeof children === 'number') return element('a', { href: target, children })
  const clone = reactRuntime.react['cloneElement'] as (child: unknown, props: object) => unknown
  return clone(children, { href: target })
}

function hrefText(href: LinkProps['href']): string {
  return typeof href === 'string' || href instanceof URL ? String(href) : formatUrl(href)
}

/** Puts the parts of a URL together as Node's `url.format` does. */
function formatUrl(url: UrlObject): string {
  const protocol = url.protocol === undefined ? '' : `${url.protocol.replace(/:$/, '')}:`
  const host = url.host ?? (url.hostname === undefined ? '' : `${url.hostname}${url.port === undefined ? '' : `:${url.port}`}`)
  const origin = host === '' ? protocol : `${protocol}//${host}`
  const pathname = (url.pathname ?? '').replace(/[?#]/g, encodeURIComponent)
  const query = url.search ?? (typeof url.query === 'string' ? url.query : queryText(url.query ?? {}))
  const search = query === '' || query.startsWith('?') ? query : `?${query}`
  const hash = url.hash === undefined || url.hash === '' || url.hash.startsWith('#') ? (url.hash ?? '') : `#${url.hash}`
  return `${origin}${host !== '' && pathname !== '' && !pathname.startsWith('/') ? '/' : ''}${pathname}${search.replaceAll('#', '%23')}${hash}`
}

function queryText(query: Readonly<Record<string, unknown>>): string {
  const params = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    for (const entry of Array.isArray(value) ? value : [value])
      params.append(name, entry === undefined || entry === null ? '' : String(entry))
  }
  return params.toString()
}
