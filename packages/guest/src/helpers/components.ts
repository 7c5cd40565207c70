import { cloneElement, jsx } from '../react/react-runtime.ts'
import { RouterError } from '../scope/router-error.ts'

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
  readonly legacyBehavior?: boolean
  readonly [attribute: string]: unknown
}

/** A plain `<a>`. */
export function Link(props: LinkProps): unknown {
  const { href, as, prefetch, replace, scroll, shallow, passHref, locale, onNavigate, legacyBehavior, ...rest } = props
  const { unstable_dynamicOnHover, children, ...attributes } = rest
  const target = hrefText(as ?? href)
  if (legacyBehavior !== true) return jsx('a', { ...attributes, href: target, children })
  if (typeof children === 'string' || typeof children === 'number') return jsx('a', { href: target, children })
  return cloneElement(children, { href: target })
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

/** An imported image. */
interface StaticImage {
  readonly src: string
  readonly width?: number
  readonly height?: number
}

/** Props of an image: those of `<img>`, and Next's own. */
interface ImageProps {
  readonly src: string | StaticImage | { readonly default: StaticImage }
  readonly alt?: string
  readonly width?: number | string
  readonly height?: number | string
  readonly fill?: boolean
  readonly priority?: boolean
  readonly preload?: boolean
  readonly loading?: 'lazy' | 'eager'
  readonly quality?: number | string
  readonly loader?: (wish: { src: string; width: number; quality: number | undefined }) => string
  readonly overrideSrc?: string
  readonly style?: object
  readonly [attribute: string]: unknown
}

const fillStyle = { position: 'absolute', height: '100%', width: '100%', left: 0, top: 0, right: 0, bottom: 0 }

/** A plain `<img>`: sizes against layout shift, lazy unless `priority`. The image is served as it is, in its own size. */
export function Image(props: ImageProps): unknown {
  const { src, alt, width, height, fill, priority, preload, loading, quality, loader, placeholder, ...rest } = props
  const { blurDataURL, unoptimized, overrideSrc, onLoadingComplete, style, ...attributes } = rest
  const image = imageOf(src)
  const size = fill ? {} : sizeOf(image, width, height)
  const isUrgent = priority === true || preload === true
  return jsx('img', {
    alt: alt ?? '',
    ...size,
    decoding: 'async',
    loading: isUrgent ? undefined : (loading ?? 'lazy'),
    ...(isUrgent ? { fetchPriority: 'high' } : {}),
    ...attributes,
    style: { ...(fill ? fillStyle : {}), color: 'transparent', ...style },
    src: overrideSrc ?? loaded(image.src, loader, Number(width ?? image.width ?? 0), quality),
  })
}

function imageOf(src: ImageProps['src']): StaticImage {
  if (typeof src === 'string' && src !== '') return { src }
  if (typeof src === 'object' && src !== null) return 'default' in src ? src.default : src
  throw new RouterError('ROUTER_BAD_ARGUMENT', 'Image needs a src.')
}

function sizeOf(image: StaticImage, width: unknown, height: unknown): object {
  const size = { width: width ?? image.width, height: height ?? image.height }
  if (size.width !== undefined && size.height !== undefined) return size
  throw new RouterError('ROUTER_BAD_ARGUMENT', `Image ${JSON.stringify(image.src)} needs width and height, or fill.`)
}

function loaded(src: string, loader: ImageProps['loader'], width: number, quality: number | string | undefined): string {
  if (typeof loader !== 'function') return src
  return loader({ src, width, quality: quality === undefined ? undefined : Number(quality) })
}

/** The props that `Image` would give its `<img>`. */
export function getImageProps(props: ImageProps): { readonly props: unknown } {
  return { props: (Image(props) as { props: unknown }).props }
}

/** Props of a script: those of `<script>`, and Next's own. */
interface ScriptProps {
  readonly src?: string
  readonly strategy?: 'beforeInteractive' | 'afterInteractive' | 'lazyOnload' | 'worker'
  readonly dangerouslySetInnerHTML?: { readonly __html: string }
  readonly [attribute: string]: unknown
}

/** Attributes of a script with `src`, by strategy. Inline scripts run where they stand. */
const loadingOf = {
  beforeInteractive: {},
  afterInteractive: { defer: true },
  worker: { defer: true },
  lazyOnload: { async: true, fetchPriority: 'low' },
} as const

/** A plain `<script>`. */
export function Script(props: ScriptProps): unknown {
  const {
    src,
    strategy = 'afterInteractive',
    children,
    dangerouslySetInnerHTML,
    onLoad,
    onReady,
    onError,
    stylesheets,
    ...rest
  } = props
  if (src !== undefined) return jsx('script', { ...rest, src, ...(loadingOf[strategy] ?? loadingOf.afterInteractive) })
  const html = dangerouslySetInnerHTML?.__html ?? (Array.isArray(children) ? children.join('') : String(children ?? ''))
  return jsx('script', { ...rest, dangerouslySetInnerHTML: { __html: html } })
}
