/**
 * One part of a route's URL pattern. `value` is plain text, not percent-encoded.
 * A catch-all takes one or more segments of a path, an optional one none or more.
 */
export type PatternSegment =
  | { readonly kind: 'static'; readonly value: string }
  | { readonly kind: 'dynamic' | 'catch-all' | 'optional-catch-all'; readonly name: string }

/** The handler of a route. */
export type RouteKind = 'page' | 'handler' | 'metadata'

/** Which metadata convention a file follows. */
export type MetadataType =
  | 'favicon'
  | 'robots'
  | 'manifest'
  | 'sitemap'
  | 'icon'
  | 'apple-icon'
  | 'opengraph-image'
  | 'twitter-image'

/** A metadata file of a segment: a route of its own and, for images and the web manifest, a tag in the head of pages below. */
export interface MetadataFile {
  readonly type: MetadataType
  readonly file: string
  /** URL pattern it is served at, e.g. "/blog/[slug]/opengraph-image" (percent-encoded text, params in brackets). */
  readonly pattern: string
  /** Media type for a file that is sent as it is; null for a module whose default export makes the answer. */
  readonly contentType: string | null
  /**
   * True if the module exports `generateSitemaps` or `generateImageMetadata`: the pattern then ends in
   * "/[__metadata_id__]", and a sitemap's id arrives with ".xml" behind it.
   */
  readonly hasIds: boolean
  /** Text file with the alternative text of an image (`opengraph-image.alt.txt`). */
  readonly altFile?: string
}

/**
 * One segment of the tree that a page is made of, from the app directory down. All files are absolute paths.
 *
 * The content of the segment is the one of `page`, `default` and `slots.children` that exists. From the outside in it is wrapped
 * by `layout`, `template`, `error`, `loading`, `notFound` of the same node. `layout` takes one prop for each key of `slots`
 * besides `children`; a slot of a segment without layout is not shown.
 *
 * For `app/shop/layout.tsx`, `app/shop/@cart/default.tsx` and `app/shop/[id]/page.tsx` the tree of `/shop/[id]` is
 * ```json
 * { "segment": "", "layout": "/site/app/layout.tsx", "metadata": [], "slots": {
 *   "children": { "segment": "shop", "layout": "/site/app/shop/layout.tsx", "metadata": [], "slots": {
 *     "children": { "segment": "[id]", "param": "id", "page": "/site/app/shop/[id]/page.tsx", "metadata": [], "slots": {} },
 *     "cart": { "segment": "@cart", "default": "/site/app/shop/@cart/default.tsx", "metadata": [], "slots": {} } } } } }
 * ```
 */
export interface SegmentNode {
  /** Directory name as written: "" for the app directory, "blog", "[slug]", "(shop)", "@cart". */
  readonly segment: string
  /** Name of the parameter that this segment adds for itself and all segments below. */
  readonly param?: string
  readonly layout?: string
  readonly template?: string
  readonly loading?: string
  readonly error?: string
  readonly notFound?: string
  /** The page; instead of `slots.children`. */
  readonly page?: string
  /** The stand-in for a slot (or for `children`) that has nothing for this URL; instead of `slots.children`. */
  readonly default?: string
  /** Images and web manifest of this very segment, for the head. */
  readonly metadata: readonly MetadataFile[]
  /**
   * `children` (unless `page` or `default` is there) and every parallel slot by name without "@". null: neither a page nor a default for this
   * URL; rendering it is like calling `notFound()` there.
   */
  readonly slots: Readonly<Record<string, SegmentNode | null>>
}

/** A parameter that only a slot's catch-all defines: it takes the path's segments from `index` on. */
export interface SlotParam {
  readonly name: string
  readonly index: number
}

/** Declared storage of the responses of a route: never, until they are purged, or for some seconds. */
export type RouteCache = { readonly mode: 'never' | 'until_purged' } | { readonly mode: 'timed'; readonly secs: number }

/** One URL pattern and what answers it. */
export interface Route {
  /** Unique within the manifest: kind, a colon, pattern; e.g. "page:/blog/[slug]". */
  readonly id: string
  /** The pattern as the directories spell it, without groups and slots: "/blog/[slug]". */
  readonly pattern: string
  readonly segments: readonly PatternSegment[]
  readonly kind: RouteKind
  /** The page, route or metadata file. For a page that only a slot has, the slot's page. */
  readonly file: string
  /** Set for pages, null otherwise. */
  readonly tree: SegmentNode | null
  /** Set for metadata routes, null otherwise. */
  readonly metadata: MetadataFile | null
  readonly slotParams: readonly SlotParam[]
  /** True if a module of it exports `generateStaticParams`: its parameters are known in advance. */
  readonly hasStaticParams: boolean
  /** The declared time for which responses are stored, the shortest of page and layouts. Undefined: none is, and their data decide. */
  readonly cache?: RouteCache
  /** Set when more than one file claims this URL: the message to answer with, status 500, instead of guessing. */
  readonly problem?: string
}

/** Something in a site's directories that does not work or not as its author may think. */
export interface SiteProblem {
  /** An error: something is not served, or not for certain as it is meant. A warning: it is served, but look at it. */
  readonly severity: 'error' | 'warning'
  readonly file: string
  /** Line in the file, from 1, where one line is to blame. */
  readonly line?: number
  readonly message: string
  /** Other files that have part in it. */
  readonly related?: readonly string[]
}

/** The middleware of a site. */
export interface MiddlewareFile {
  readonly file: string
  /** `config.matcher` of the module as it was exported, or null before it was loaded or when there is none. */
  readonly matcher: unknown
}

/**
 * Everything that the names of a site's files say, as frozen plain data. Equal for equal directories; crosses processes
 * as JSON.
 */
export interface SiteManifest {
  /** Changes whenever anything else in the manifest does. */
  readonly version: string
  readonly root: string
  /** null: no app directory, only static files. */
  readonly appDir: string | null
  readonly publicDir: string
  /** Sorted by pattern. */
  readonly routes: readonly Route[]
  readonly middleware: MiddlewareFile | null
  /**
   * For paths that no route matches: the node of the app directory alone, without `children`. What stands inside its
   * layout is its `notFound` file or, without one, the built-in text. null without an app directory.
   */
  readonly notFound: SegmentNode | null
  /** `global-error` of the app directory: replaces the whole document when the root layout itself fails. */
  readonly globalError: string | null
  readonly problems: readonly SiteProblem[]
  /** Set when nothing of the site may be served, and why: serving it would skip code that guards it. Null: serve it. */
  readonly refusal: string | null
}

/** Parameters of a match, percent-decoded: text, or a list of texts for a catch-all. */
export type RouteParams = Readonly<Record<string, string | readonly string[]>>
