import type { MetadataFile } from '../manifest/manifest.ts'
import type { Directory, FoundMetadata } from './directory-tree.ts'
import { metadataSuffix } from './metadata-name.ts'

/** Name of the parameter that stands for one of several sitemaps or images. */
const METADATA_ID = '__metadata_id__'

/** Parts of the head come from these; favicon, robots and sitemaps have none but the favicon's link. */
const isHeadTag = (file: MetadataFile) => file.type !== 'robots' && file.type !== 'sitemap'

function toMetadataFile(found: FoundMetadata, urlPrefix: string, directory: string): MetadataFile {
  const { type, stem, urlExtension, contentType } = found.name
  const base = `${urlPrefix === '/' ? '' : urlPrefix}/${stem}${metadataSuffix(type, directory)}`
  const pattern = found.hasIds ? `${base}/[${METADATA_ID}]` : `${base}${urlExtension}`
  const file: MetadataFile = { type, file: found.file, pattern, contentType, hasIds: found.hasIds }
  return Object.freeze(found.altFile === undefined ? file : { ...file, altFile: found.altFile })
}

/**
 * The metadata files of one directory with their URLs.
 * @param urlPrefix pattern of the directory's own URL
 * @param directory path below the app directory, groups and slots included
 */
export function metadataFilesOf(directory: Directory, urlPrefix: string, relative: string): readonly MetadataFile[] {
  return directory.metadata.map((found) => toMetadataFile(found, urlPrefix, relative))
}

/** Those of them that show in the head of the pages of this directory and below. */
export function headFilesOf(files: readonly MetadataFile[]): readonly MetadataFile[] {
  return Object.freeze(files.filter(isHeadTag))
}
