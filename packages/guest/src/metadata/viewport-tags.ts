import { isRecord } from './merge-metadata.ts'
import type { HeadTag, MetadataExport } from './metadata-types.ts'
import { listOf, TagList } from './tag-list.ts'

/** Viewport of a page whose site says nothing. */
export const defaultViewport: MetadataExport = { width: 'device-width', initialScale: 1 }

const fields: readonly (readonly [field: string, name: string])[] = [
  ['width', 'width'],
  ['height', 'height'],
  ['initialScale', 'initial-scale'],
  ['minimumScale', 'minimum-scale'],
  ['maximumScale', 'maximum-scale'],
  ['viewportFit', 'viewport-fit'],
  ['userScalable', 'user-scalable'],
  ['interactiveWidget', 'interactive-widget'],
]

/** Renders a merged `viewport` to its tags: viewport, theme-color, color-scheme. */
export function viewportTags(viewport: MetadataExport): readonly HeadTag[] {
  const list = new TagList()
  const parts = fields.filter(([field]) => viewport[field] !== undefined && viewport[field] !== null)
  list.name('viewport', parts.map(([field, name]) => `${name}=${contentOf(viewport[field])}`).join(', '))
  const tags: HeadTag[] = [...list.tags]
  for (const color of listOf(viewport['themeColor'])) tags.push(themeColor(color))
  const scheme = new TagList()
  scheme.name('color-scheme', viewport['colorScheme'])
  return [...tags, ...scheme.tags]
}

function contentOf(value: unknown): string {
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  return String(value)
}

function themeColor(color: unknown): HeadTag {
  const { color: content, media } = isRecord(color) ? color : { color, media: undefined }
  const attributes = { name: 'theme-color', content: String(content) }
  return { tag: 'meta', attributes: typeof media === 'string' ? { ...attributes, media } : attributes }
}
