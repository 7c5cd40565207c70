import type { MetadataExport, MetadataFileTag, ResolvedMetadata, ResolvedTitle } from './tag-list.ts'

/** Title templates that apply to a segment: those of the segments above it. */
export interface TitleTemplates {
  readonly title: string | null
  readonly openGraph: string | null
  readonly twitter: string | null
}

export const noTemplates: TitleTemplates = { title: null, openGraph: null, twitter: null }

/** Metadata of a page whose site sets none. */
export const emptyMetadata: ResolvedMetadata = { title: null, openGraph: null, twitter: null }

/**
 * Merges one segment's metadata over what is above it: shallow, field by field, as the App Router does; titles are put
 * into the template of a segment above, and the segment's own image files win over its exported images.
 */
export function mergeMetadata(
  parent: ResolvedMetadata,
  own: MetadataExport | null,
  templates: TitleTemplates,
  files: readonly MetadataFileTag[],
): ResolvedMetadata {
  if (own === null && files.length === 0) return parent
  const merged: Record<string, unknown> = { ...parent }
  for (const [field, value] of Object.entries(own ?? {})) {
    if (value !== undefined) merged[field] = value
  }
  if (own?.['title'] !== undefined) merged['title'] = resolveTitle(own['title'], templates.title)
  merged['openGraph'] = social(own, 'openGraph', parent.openGraph, templates.openGraph)
  merged['twitter'] = social(own, 'twitter', parent.twitter, templates.twitter)
  applyFiles(merged, own, files)
  return merged as unknown as ResolvedMetadata
}

/** The templates that segments below `metadata` see. */
export function templatesOf(metadata: ResolvedMetadata): TitleTemplates {
  return {
    title: metadata.title?.template ?? null,
    openGraph: templateOf(metadata.openGraph?.['title']),
    twitter: templateOf(metadata.twitter?.['title']),
  }
}

function templateOf(title: unknown): string | null {
  return isRecord(title) && typeof title['template'] === 'string' ? title['template'] : null
}

/** Resolves a `title` field: a string or `default` goes into the template of a segment above, `absolute` does not. */
function resolveTitle(title: unknown, template: string | null): ResolvedTitle | null {
  if (title === null || title === undefined) return null
  if (!isRecord(title)) return { absolute: fill(template, String(title)), template: null }
  const own = typeof title['template'] === 'string' ? title['template'] : null
  if (title['absolute'] !== undefined && title['absolute'] !== null) return { absolute: String(title['absolute']), template: own }
  const base = title['default']
  return { absolute: base === undefined || base === null ? '' : fill(template, String(base)), template: own }
}

function fill(template: string | null, title: string): string {
  return template === null ? title : template.replaceAll('%s', () => title)
}

function social(
  own: MetadataExport | null,
  field: 'openGraph' | 'twitter',
  parent: MetadataExport | null,
  template: string | null,
): MetadataExport | null {
  const value = own?.[field]
  if (value === undefined) return parent
  if (!isRecord(value)) return null
  return value['title'] === undefined ? value : { ...value, title: resolveTitle(value['title'], template) }
}

function applyFiles(merged: Record<string, unknown>, own: MetadataExport | null, files: readonly MetadataFileTag[]): void {
  if (files.length === 0) return
  const images = (type: MetadataFileTag['type']) => files.filter((file) => file.type === type).map(imageOf)
  const graph = images('opengraph-image')
  if (graph.length > 0) merged['openGraph'] = { ...asRecord(merged['openGraph']), images: graph }
  const twitter = images('twitter-image')
  if (twitter.length > 0) merged['twitter'] = { ...asRecord(merged['twitter']), images: twitter }
  const manifest = files.find((file) => file.type === 'manifest')
  if (manifest !== undefined) merged['manifest'] = manifest.url
  const icons = iconFiles(files)
  if (icons !== null) merged['icons'] = { ...(isRecord(own?.['icons']) ? own['icons'] : {}), ...icons }
}

function iconFiles(files: readonly MetadataFileTag[]): Record<string, unknown> | null {
  const pick = (types: readonly string[]) => files.filter((file) => types.includes(file.type)).map(iconOf)
  const icon = pick(['favicon', 'icon'])
  const apple = pick(['apple-icon'])
  if (icon.length === 0 && apple.length === 0) return null
  return { ...(icon.length > 0 ? { icon } : {}), ...(apple.length > 0 ? { apple } : {}) }
}

function imageOf(file: MetadataFileTag): Record<string, unknown> {
  return { url: file.url, type: file.contentType, width: file.width, height: file.height, alt: file.alt }
}

function iconOf(file: MetadataFileTag): Record<string, unknown> {
  return { url: file.url, type: file.contentType, sizes: file.sizes ?? (file.type === 'favicon' ? 'any' : undefined) }
}

/** True if a value is a plain object (no array, URL or Date). */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return (
    typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof URL) && !(value instanceof Date)
  )
}

function asRecord(value: unknown): Readonly<Record<string, unknown>> {
  return isRecord(value) ? value : {}
}
