import { RouterError } from '../scope/router-error.ts'
import { element } from './element.ts'

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
  readonly placeholder?: unknown
  readonly blurDataURL?: unknown
  readonly unoptimized?: unknown
  readonly overrideSrc?: string
  readonly onLoadingComplete?: unknown
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
  return element('img', {
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
