import type { MetadataFile } from '@svc/site'
import type { MetadataFileTag } from '../metadata/metadata-types.ts'
import { hasModule, requireModule } from '../registry/registry.ts'
import type { ModuleExports } from './module-exports.ts'
import type { PageInput } from './page-input.ts'

type Tags = readonly MetadataFileTag[]

/**
 * Tags of the images and other metadata files of a segment; a promise only where a module needs one to list them. A module that fails
 * is logged once for the request, and its tags are left out: never rejects.
 */
export function fileTags(files: readonly MetadataFile[], input: PageInput): Tags | Promise<Tags> {
  const tags = files.map((file) => tagsOfFile(file, input))
  if (!tags.some((one) => one instanceof Promise)) return (tags as Tags[]).flat()
  return Promise.all(tags).then((all) => all.flat())
}

function tagsOfFile(file: MetadataFile, input: PageInput): Tags | Promise<Tags> {
  const { type } = file
  if (type === 'robots' || type === 'sitemap') return []
  if (file.contentType !== null) return [{ type, url: fillPattern(file.pattern, input), contentType: file.contentType }]
  // The thread has logged why it is not there.
  if (!hasModule(file.file)) return []
  const failed = (error: unknown): Tags => {
    input.fileFailed(file.file, error)
    return []
  }
  try {
    const tags = tagsOfModule(type, file, input)
    return tags instanceof Promise ? tags.catch(failed) : tags
  } catch (error) {
    return failed(error)
  }
}

function tagsOfModule(type: MetadataFileTag['type'], file: MetadataFile, input: PageInput): Tags | Promise<Tags> {
  const exports = requireModule(file.file)
  const fields = imageFields(exports)
  if (!file.hasIds) return [{ type, url: fillPattern(file.pattern, input), ...fields }]
  const tagsOfList = (list: unknown): Tags =>
    imagesOf(list).map(({ id, ...own }) => ({
      type,
      url: fillPattern(file.pattern, input, String(id)),
      ...fields,
      ...imageFields(own),
    }))
  const generate = exports['generateImageMetadata']
  const list: unknown = typeof generate === 'function' ? generate({ params: input.allParams }) : []
  return Array.isArray(list) ? tagsOfList(list) : Promise.resolve(list).then(tagsOfList)
}

function imagesOf(list: unknown): readonly Readonly<Record<string, unknown>>[] {
  return Array.isArray(list) ? list : []
}

function imageFields(from: ModuleExports): Partial<MetadataFileTag> {
  const size = from['size'] as { width?: number; height?: number } | undefined
  return {
    ...(typeof from['contentType'] === 'string' ? { contentType: from['contentType'] } : {}),
    ...(typeof from['alt'] === 'string' ? { alt: from['alt'] } : {}),
    ...(size?.width === undefined ? {} : { width: size.width }),
    ...(size?.height === undefined ? {} : { height: size.height }),
    ...(size?.width === undefined || size.height === undefined ? {} : { sizes: `${size.width}x${size.height}` }),
  }
}

function fillPattern(pattern: string, input: PageInput, id = ''): string {
  const { params } = input.scope.guest.begin
  return pattern.replace(/\[+(?:\.\.\.)?([^\]]+)\]+/g, (_, name: string) => {
    if (name === '__metadata_id__') return encodeURIComponent(id)
    const value = params[name]
    return Array.isArray(value) ? value.map(encodeURIComponent).join('/') : encodeURIComponent(String(value ?? ''))
  })
}
