import type { SegmentNode } from '@svc/site'
import { emptyMetadata } from '../metadata/merge-metadata.ts'
import { headTags } from '../metadata/metadata-tags.ts'
import type { HeadTag } from '../metadata/metadata-types.ts'
import { type MetadataLevel, type ResolvedHead, resolveHead } from '../metadata/resolve-metadata.ts'
import { defaultViewport } from '../metadata/viewport-tags.ts'
import type { Replacement } from './boundary-plan.ts'
import { exportsOf } from './module-exports.ts'
import { fileTags } from './page-files.ts'
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
