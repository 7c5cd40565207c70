import type { MetadataFile, SegmentNode } from '@svc/site'
import { hasModule } from '../port.ts'
import type { Replacement } from './boundary-plan.ts'
import { emptyMetadata } from './metadata/merge-metadata.ts'
import { headTags } from './metadata/metadata-tags.ts'
import type { HeadTag, MetadataFileTag } from './metadata/metadata-types.ts'
import { type MetadataLevel, type ResolvedHead, resolveHead } from './metadata/resolve-metadata.ts'
import { defaultViewport } from './metadata/viewport-tags.ts'
import { exportsOf } from './module-exports.ts'
import { namesWith, type PageInput, pageProps } from './page-input.ts'

/** Head of a page: at once when nothing has to be generated. */
export type PageHead = readonly HeadTag[] | Promise<readonly HeadTag[]>

/** Tags for the head of a page; `replaced` is what failed so far. Rejects with what a `generate*` function threw. */
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
  for (let node: SegmentNode | null | undefined = tree; node; node = node.slots['children']) {
    names = namesWith(names, node)
    const files = node.metadata.flatMap((file) => fileTags(file, input))
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

function fileTags(file: MetadataFile, input: PageInput): readonly MetadataFileTag[] {
  if (file.type === 'robots' || file.type === 'sitemap') return []
  const { type } = file
  if (file.contentType !== null) {
    return [{ type, url: fillPattern(file.pattern, input), contentType: file.contentType }]
  }
  if (!hasModule(file.file)) return [{ type, url: fillPattern(file.pattern, input) }]
  const exports = exportsOf(file.file)
  const fields = imageFields(exports)
  if (!file.hasIds) return [{ type, url: fillPattern(file.pattern, input), ...fields }]
  return imageIds(exports, input).map(({ id, ...own }) => ({
    type,
    url: fillPattern(file.pattern, input, String(id)),
    ...fields,
    ...imageFields(own),
  }))
}

/** What `generateImageMetadata` lists; only a list that is there at once can have tags. */
function imageIds(exports: Readonly<Record<string, unknown>>, input: PageInput): readonly Readonly<Record<string, unknown>>[] {
  const generate = exports['generateImageMetadata']
  const list: unknown = typeof generate === 'function' ? generate({ params: input.allParams }) : []
  return Array.isArray(list) ? list : []
}

function imageFields(from: Readonly<Record<string, unknown>>): Partial<MetadataFileTag> {
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
