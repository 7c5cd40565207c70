/** Metadata as a module exports it: any of the App Router's fields. Unknown fields are ignored. */
export type MetadataExport = Readonly<Record<string, unknown>>

/** A title with what it hands down to the segments below. */
export interface ResolvedTitle {
  readonly absolute: string
  readonly template: string | null
}

/** Metadata merged down to some segment; fields other than `title`, `openGraph` and `twitter` are as the module gave them. */
export interface ResolvedMetadata {
  readonly [field: string]: unknown
  readonly title: ResolvedTitle | null
  readonly openGraph: MetadataExport | null
  readonly twitter: MetadataExport | null
}

/** One tag for the document's head. */
export interface HeadTag {
  readonly tag: 'title' | 'meta' | 'link'
  readonly attributes: Readonly<Record<string, string>>
  /** Text of a title. */
  readonly text?: string
}

/** A segment's own image or manifest file, as a tag needs it. */
export interface MetadataFileTag {
  readonly type: 'favicon' | 'icon' | 'apple-icon' | 'opengraph-image' | 'twitter-image' | 'manifest'
  /** Path on this site, parameters filled in. */
  readonly url: string
  readonly contentType?: string
  readonly sizes?: string
  readonly width?: number
  readonly height?: number
  readonly alt?: string
}

/** Resolves a URL of the metadata against `metadataBase` or, without one, against the request's origin. */
export type ResolveUrl = (url: unknown) => string
