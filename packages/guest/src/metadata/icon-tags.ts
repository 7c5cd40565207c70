import { isRecord } from './merge-metadata.ts'
import type { ResolvedMetadata } from './metadata-types.ts'
import { listOf, type TagList } from './tag-list.ts'

/** Adds the links of `icons`: a URL, a list, or `{icon, shortcut, apple, other}`. */
export function addIconTags(list: TagList, metadata: ResolvedMetadata): void {
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
