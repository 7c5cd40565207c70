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

const escapes: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#x27;' }

/** Makes text safe in element content and in a quoted attribute value; with XML's five predefined entities also for XML. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => escapes[character] ?? character)
}

/** Collects head tags and leaves out those without a value. */
export class TagList {
  readonly #tags: HeadTag[] = []

  get tags(): readonly HeadTag[] {
    return this.#tags
  }

  title(text: string): void {
    this.#tags.push({ tag: 'title', attributes: {}, text })
  }

  /** `<meta name content>`; nothing for undefined, null and "". */
  name(name: string, content: unknown): void {
    this.#meta('name', name, content)
  }

  /** `<meta property content>`, the form of Open Graph. */
  property(property: string, content: unknown): void {
    this.#meta('property', property, content)
  }

  /** `<link rel href ...>`; nothing without href; attributes without a value are left out. */
  link(rel: string, href: unknown, extra: Readonly<Record<string, unknown>> = {}): void {
    if (isAbsent(href)) return
    const attributes: Record<string, string> = { rel }
    for (const [key, value] of Object.entries({ href, ...extra })) {
      if (!isAbsent(value)) attributes[key] = textOf(value)
    }
    this.#tags.push({ tag: 'link', attributes })
  }

  #meta(key: 'name' | 'property', name: string, content: unknown): void {
    if (isAbsent(content)) return
    this.#tags.push({ tag: 'meta', attributes: { [key]: name, content: textOf(content) } })
  }
}

/** A list from one value, a list, or nothing. */
export function listOf(value: unknown): readonly unknown[] {
  if (value === undefined || value === null) return []
  return Array.isArray(value) ? value : [value]
}

function isAbsent(value: unknown): boolean {
  return value === undefined || value === null || value === ''
}

function textOf(value: unknown): string {
  return value instanceof Date ? value.toISOString() : String(value)
}
