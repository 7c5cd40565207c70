/** `svc/image` and `next/image`: a plain `<img>`; the server does not resize. */
import type { ImgHTMLAttributes, ReactElement, Ref } from 'react'

/** An imported image. */
export interface StaticImageData {
  readonly src: string
  readonly width?: number
  readonly height?: number
  readonly blurDataURL?: string
}

export interface ImageProps
  extends Omit<ImgHTMLAttributes<HTMLImageElement>, 'src' | 'width' | 'height' | 'alt' | 'placeholder'> {
  readonly src: string | StaticImageData
  readonly alt: string
  readonly width?: number | `${number}`
  readonly height?: number | `${number}`
  /** Fills its positioned parent. */
  readonly fill?: boolean
  /** Loads at once and early. */
  readonly priority?: boolean
  readonly quality?: number | `${number}`
  readonly placeholder?: 'blur' | 'empty' | `data:image/${string}`
  readonly blurDataURL?: string
  readonly unoptimized?: boolean
  readonly loader?: (options: { src: string; width: number; quality?: number }) => string
  readonly ref?: Ref<HTMLImageElement>
}

export default function Image(props: ImageProps): ReactElement
