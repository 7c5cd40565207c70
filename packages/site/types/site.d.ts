/** Types of what the files of an app directory export and receive. Names `svc` and `next`. */
import type { ReactNode } from 'react'

/** Parameters of a URL: text, or a list of texts for a catch-all. */
export type Params = Readonly<Record<string, string | string[] | undefined>>
/** Query of a URL. A name that is there more than once has a list. */
export type SearchParams = Readonly<Record<string, string | string[] | undefined>>
/** A promise whose fields can also be read without awaiting it. */
export type Readable<T> = Promise<T> & T

/** Props of a `page` or `default` file's component. */
export interface PageProps<P = Params, Q = SearchParams> {
  readonly params: Readable<P>
  readonly searchParams: Readable<Q>
}

/** Props of a `layout` or `template`; name the parallel slots in `S`: `LayoutProps<Params, 'cart'>`. */
export type LayoutProps<P = Params, S extends string = never> = {
  readonly children: ReactNode
  readonly params: Readable<P>
} & { readonly [slot in S]: ReactNode }

/** Props of an `error` or `global-error` file's component. */
export interface ErrorProps {
  readonly error: Error & { readonly digest?: string }
  /** Loads the same URL again. */
  readonly reset: () => void
}

/** Second argument of a route handler. */
export interface RouteContext<P = Params> {
  readonly params: Readable<P>
}

type Text = string | readonly string[]
type Url = string | URL

/** A title, or how titles below are made: `template` has "%s" where the title of a page goes. */
export type Title =
  | string
  | { readonly default: string; readonly template: string | null }
  | { readonly absolute: string; readonly template?: string | null }

export interface Author {
  readonly name?: string
  readonly url?: Url
}

export interface RobotsRules {
  readonly index?: boolean
  readonly follow?: boolean
  readonly noarchive?: boolean
  readonly nosnippet?: boolean
  readonly noimageindex?: boolean
  readonly nocache?: boolean
  readonly notranslate?: boolean
  readonly 'max-snippet'?: number
  readonly 'max-image-preview'?: 'none' | 'standard' | 'large'
  readonly 'max-video-preview'?: number | string
}

export interface Icon {
  readonly url: Url
  readonly type?: string
  readonly sizes?: string
  readonly rel?: string
  readonly media?: string
  readonly color?: string
}
type IconOrUrl = Icon | Url
type IconList = IconOrUrl | readonly IconOrUrl[]

export interface MediaObject {
  readonly url: Url
  readonly secureUrl?: Url
  readonly type?: string
  readonly width?: number | string
  readonly height?: number | string
  readonly alt?: string
}
type MediaList = Url | MediaObject | readonly (Url | MediaObject)[]

export interface OpenGraph {
  readonly type?: string
  readonly title?: Title
  readonly description?: string
  readonly url?: Url
  readonly siteName?: string
  readonly locale?: string
  readonly alternateLocale?: Text
  readonly determiner?: 'a' | 'an' | 'the' | 'auto' | ''
  readonly images?: MediaList
  readonly videos?: MediaList
  readonly audio?: MediaList
  readonly publishedTime?: string
  readonly modifiedTime?: string
  readonly expirationTime?: string
  readonly authors?: Url | readonly Url[] | null
  readonly section?: string
  readonly tags?: Text | null
}

export interface Twitter {
  readonly card?: 'summary' | 'summary_large_image' | 'player' | 'app'
  readonly site?: string
  readonly siteId?: string
  readonly creator?: string
  readonly creatorId?: string
  readonly title?: Title
  readonly description?: string
  readonly images?: MediaList
}

export interface Verification {
  readonly google?: Text | null
  readonly yahoo?: Text | null
  readonly yandex?: Text | null
  readonly me?: Text | null
  readonly other?: Readonly<Record<string, string | number | readonly (string | number)[]>>
}

/** `metadata` of a page or layout, or what `generateMetadata` returns. */
export interface Metadata {
  /** Base of relative URLs in the other fields. */
  readonly metadataBase?: URL | null
  readonly title?: Title | null
  readonly description?: string | null
  readonly applicationName?: string | null
  readonly authors?: Author | readonly Author[] | null
  readonly generator?: string | null
  readonly keywords?: Text | null
  readonly referrer?:
    | 'no-referrer'
    | 'origin'
    | 'no-referrer-when-downgrade'
    | 'origin-when-cross-origin'
    | 'same-origin'
    | 'strict-origin'
    | 'strict-origin-when-cross-origin'
    | null
  readonly creator?: string | null
  readonly publisher?: string | null
  readonly robots?: string | (RobotsRules & { readonly googleBot?: string | RobotsRules }) | null
  readonly alternates?: {
    readonly canonical?: Url | null
    readonly languages?: Readonly<Record<string, Url | null | undefined>>
    readonly media?: Readonly<Record<string, Url | null | undefined>>
    readonly types?: Readonly<Record<string, Url | null | undefined>>
  } | null
  readonly icons?:
    | IconList
    | { readonly icon?: IconList; readonly shortcut?: IconList; readonly apple?: IconList; readonly other?: IconList }
    | null
  readonly manifest?: Url | null
  readonly openGraph?: OpenGraph | null
  readonly twitter?: Twitter | null
  readonly verification?: Verification | null
  readonly appleWebApp?:
    | boolean
    | { readonly capable?: boolean; readonly title?: string; readonly statusBarStyle?: 'default' | 'black' | 'black-translucent' }
    | null
  readonly formatDetection?: {
    readonly telephone?: boolean
    readonly date?: boolean
    readonly address?: boolean
    readonly email?: boolean
    readonly url?: boolean
  } | null
  readonly category?: string | null
  readonly classification?: string | null
  readonly abstract?: string | null
  readonly archives?: Text | null
  readonly assets?: Text | null
  readonly bookmarks?: Text | null
  readonly other?: Readonly<Record<string, string | number | readonly (string | number)[]>>
}

/** Metadata merged down to the segment above; the second argument of `generateMetadata` is a promise of it. */
export type ResolvedMetadata = Metadata
export type ResolvingMetadata = Promise<ResolvedMetadata>

/** `viewport` of a page or layout, or what `generateViewport` returns. */
export interface Viewport {
  readonly width?: string | number
  readonly height?: string | number
  readonly initialScale?: number
  readonly minimumScale?: number
  readonly maximumScale?: number
  readonly userScalable?: boolean
  readonly viewportFit?: 'auto' | 'cover' | 'contain'
  readonly interactiveWidget?: 'resizes-visual' | 'resizes-content' | 'overlays-content'
  readonly themeColor?:
    | string
    | { readonly color: string; readonly media?: string }
    | readonly { readonly color: string; readonly media?: string }[]
    | null
  readonly colorScheme?: 'normal' | 'light' | 'dark' | 'light dark' | 'dark light' | 'only light' | null
}

/** Results of metadata files. */
export namespace MetadataRoute {
  /** Of `sitemap.ts`. */
  export type Sitemap = readonly {
    readonly url: string
    readonly lastModified?: string | Date
    readonly changeFrequency?: 'always' | 'hourly' | 'daily' | 'weekly' | 'monthly' | 'yearly' | 'never'
    readonly priority?: number
    readonly alternates?: { readonly languages?: Readonly<Record<string, string>> }
    readonly images?: readonly string[]
  }[]
  interface RobotsRule {
    readonly userAgent?: Text
    readonly allow?: Text
    readonly disallow?: Text
    readonly crawlDelay?: number
  }
  /** Of `robots.ts`. */
  export interface Robots {
    readonly rules: RobotsRule | readonly RobotsRule[]
    readonly sitemap?: Text
    readonly host?: string
  }
  /** Of `manifest.ts`. */
  export interface Manifest {
    readonly name?: string
    readonly short_name?: string
    readonly description?: string
    readonly start_url?: string
    readonly scope?: string
    readonly id?: string
    readonly display?: 'fullscreen' | 'standalone' | 'minimal-ui' | 'browser'
    readonly background_color?: string
    readonly theme_color?: string
    readonly icons?: readonly {
      readonly src: string
      readonly type?: string
      readonly sizes?: string
      readonly purpose?: string
    }[]
    readonly [member: string]: unknown
  }
}
