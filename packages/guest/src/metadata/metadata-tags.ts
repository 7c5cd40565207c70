import { addAlternateTags, addBasicTags, addRobotsTags, addVendorTags } from './basic-tags.ts'
import { addIconTags } from './icon-tags.ts'
import type { HeadTag, MetadataExport, ResolvedMetadata, ResolveUrl } from './metadata-types.ts'
import { addOpenGraphTags, addTwitterTags } from './social-tags.ts'
import { TagList } from './tag-list.ts'
import { viewportTags } from './viewport-tags.ts'

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
