import type { MetadataFile, SegmentNode } from '@svc/site'
import { defaultViewport, headTags } from '../metadata/head-tags.ts'
import { emptyMetadata } from '../metadata/merge-metadata.ts'
import { type MetadataLevel, type ResolvedHead, resolveHead } from '../metadata/resolve-metadata.ts'
import type { HeadTag, MetadataFileTag } from '../metadata/tag-list.ts'
import { hasModule, requireModule } from '../registry/registry.ts'
import type { Replacement } from './boundaries.ts'
import { exportsOf, type ModuleExports } from './module-exports.ts'
import { childrenLine, namesWith, type PageInput, pageProps } from './page-input.ts'

type Tags = readonly MetadataFileTag[]

/**
 * Tags of the images and other metadata files of a segment; a promise only where a module needs one to list them. A module that fails
 * is logged once for the request, and its tags are left out: never rejects.
 */
function fileTags(files: readonly MetadataFile[], input: PageInput): Tags | Promise<Tags> {
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

/** Head of a page: at once when nothing has to be generated. */
export type PageHead = readonly HeadTag[] | Promise<readonly HeadTag[]>

/** Tags for the head of a page; `replaced`: the segments that failed so far. Rejects with the error of a `generate*` function. */
export function pageHead(tree: SegmentNode, input: PageInput, replaced: ReadonlyMap<SegmentNode, Replacement>): PageHead {
  let head: ReturnType<typeof resolveHead>
  try {
    head = resolveHead(headLevels(tree, input, replaced))
  } catch (error) {
    return Promise.reject(error)
  }
  return head instanceof Promise ? head.then((resolved) => tagsOf(resolved, input)) : tagsOf(head, input)
}

/** Tags of a page whose own metadata failed: what its layouts say, or else nothing. */
export async function fallbackHead(tree: SegmentNode, input: PageInput): Promise<readonly HeadTag[]> {
  try {
    return tagsOf(await resolveHead(headLevels(tree, input, new Map()).slice(0, -1)), input)
  } catch {
    // The failure itself is shown and logged by the boundary that caught it.
    return tagsOf({ metadata: emptyMetadata, viewport: defaultViewport }, input)
  }
}

function headLevels(
  tree: SegmentNode,
  input: PageInput,
  replaced: ReadonlyMap<SegmentNode, Replacement>,
): readonly MetadataLevel[] {
  const levels: MetadataLevel[] = []
  let names: readonly string[] = []
  for (const node of childrenLine(tree)) {
    names = namesWith(names, node)
    const files = fileTags(node.metadata, input)
    levels.push({ exports: node.layout === undefined ? null : exportsOf(node.layout), props: layoutProps(input, names), files })
    if (replaced.get(node)?.kind === 'http') {
      // As if it were a segment of its own, so that the title template of the layout beside it applies.
      levels.push({ exports: null, props: {}, files: [] })
      levels.push({ exports: node.notFound === undefined ? null : exportsOf(node.notFound), props: {}, files: [] })
      return levels
    }
    const leaf = node.page ?? node.default
    if (leaf !== undefined) levels.push({ exports: exportsOf(leaf), props: pageProps(input), files: [] })
  }
  return levels
}

function layoutProps(input: PageInput, names: readonly string[]): object {
  return {
    get params() {
      return input.paramsFor(names)
    },
  }
}

function tagsOf({ metadata, viewport }: ResolvedHead, input: PageInput): readonly HeadTag[] {
  const base = metadata['metadataBase']
  return headTags(metadata, viewport, (url) => absoluteUrl(url, base, input))
}

/** Paths are joined to the base's own path; "./x" is relative to the page. Without a base it is the origin of the request. */
function absoluteUrl(url: unknown, base: unknown, input: PageInput): string {
  const text = String(url)
  if (/^[a-z][a-z0-9+.-]*:/i.test(text)) return text
  const { scope } = input
  const hasBase = base instanceof URL || (typeof base === 'string' && base !== '')
  if (!hasBase) scope.guest.facts.reads.add('host')
  const root = new URL(hasBase ? String(base) : scope.url.origin)
  const path = text.startsWith('.') ? new URL(text, `http://base${scope.url.pathname}`).pathname : text
  const joined = `${root.pathname.replace(/\/$/, '')}/${path.replace(/^\//, '')}`
  return new URL(joined, root.origin).href.replace(/\/$/, '')
}
