import { addAlternateTags, addBasicTags, addRobotsTags, addVendorTags } from './basic-tags.ts'
import { isRecord } from './merge-metadata.ts'
import { addOpenGraphTags, addTwitterTags } from './social-tags.ts'
import { type HeadTag, listOf, type MetadataExport, type ResolvedMetadata, type ResolveUrl, TagList } from './tag-list.ts'

/** Adds the links of `icons`: a URL, a list, or `{icon, shortcut, apple, other}`. */
function addIconTags(list: TagList, metadata: ResolvedMetadata): void {
  const icons = metadata['icons']
  if (icons === undefined || icons === null) return
  const groups = isRecord(icons) && icons['url'] === undefined ? icons : { icon: icons }
  for (const icon of listOf(groups['shortcut'])) addIcon(list, 'shortcut icon', icon)
  for (const icon of listOf(groups['icon'])) addIcon(list, 'icon', icon)
  for (const icon of listOf(groups['apple'])) addIcon(list, 'apple-touch-icon', icon)
  for (const icon of listOf(groups['other'])) addIcon(list, 'icon', icon)
}

function addIcon(list: TagList, rel: string, icon: unknown): void {
  if (!isRecord(icon)) {
    list.link(rel, icon)
    return
  }
  const { url, type, sizes, color, media, fetchPriority } = icon
  list.link(String(icon['rel'] ?? rel), url, { type, sizes, color, media, fetchPriority })
}

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
function viewportTags(viewport: MetadataExport): readonly HeadTag[] {
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

/** Renders merged metadata and viewport to the tags of the document's head, charset and viewport first. */
export function headTags(metadata: ResolvedMetadata, viewport: MetadataExport, resolveUrl: ResolveUrl): readonly HeadTag[] {
  const list = new TagList()
  addBasicTags(list, metadata)
  addRobotsTags(list, metadata)
  addAlternateTags(list, metadata, resolveUrl)
  addVendorTags(list, metadata)
  addOpenGraphTags(list, metadata, resolveUrl)
  addTwitterTags(list, metadata, resolveUrl)
  addIconTags(list, metadata)
  return [{ tag: 'meta', attributes: { charSet: 'utf-8' } }, ...viewportTags(viewport), ...list.tags]
}
