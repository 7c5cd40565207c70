import type { SegmentNode } from '@svc/site'
import type { HeadTag } from '../metadata/tag-list.ts'
import { Fragment, jsx } from '../react/react-runtime.ts'
import { cssOf } from '../registry/registry.ts'
import { BoundaryMarks, type BoundaryPlan } from './boundaries.ts'
import { minimalDocument } from './builtin-pages.ts'
import { fallbackHead, type PageHead, pageHead } from './page-head.ts'
import { childrenLine, type PageInput } from './page-input.ts'
import { segmentElement, type TreeContext } from './segment-tree.ts'

/** One build of a page: the element, and the context that its output is read with. */
export interface PageDocument {
  readonly element: unknown
  readonly context: TreeContext
}

/** Builds the whole document of a page: head tags, style sheets and the tree of segments. */
export function pageDocument(tree: SegmentNode, input: PageInput, plan: BoundaryPlan): PageDocument {
  const head = pageHead(tree, input, plan.replaced)
  const isLate = head instanceof Promise
  const outlet = isLate && plan.replaced.size === 0 ? jsx(MetadataOutlet, { head }) : null
  const context: TreeContext = { input, plan, marks: new BoundaryMarks(), outlet }
  const body = segmentElement(context, tree)
  const content = childrenLine(tree).some(({ layout }) => layout !== undefined) ? body : minimalDocument(body)
  const headElement = isLate ? jsx(LateHead, { head: settledHead(head, tree, input) }) : tagElements(head)
  const isHidden = [...plan.replaced.values()].some(({ kind }) => kind === 'http')
  const children = [
    headElement,
    styleElement(tree),
    isHidden ? jsx('meta', { name: 'robots', content: 'noindex' }) : null,
    content,
  ]
  return { element: jsx(Fragment, { children }), context }
}

/** Throws what `generateMetadata` threw, in the place of the page, so that the page's own boundaries deal with it. */
async function MetadataOutlet({ head }: { readonly head: Promise<unknown> }): Promise<null> {
  await head
  return null
}

async function LateHead({ head }: { readonly head: Promise<readonly HeadTag[]> }): Promise<unknown> {
  return tagElements(await head)
}

function settledHead(head: PageHead, tree: SegmentNode, input: PageInput): Promise<readonly HeadTag[]> {
  return Promise.resolve(head).catch(() => fallbackHead(tree, input))
}

function tagElements(tags: readonly HeadTag[]): readonly unknown[] {
  return tags.map(({ tag, attributes, text }) => jsx(tag, text === undefined ? attributes : { ...attributes, children: text }))
}

/** All style sheets that the files of a tree import, as one element that React puts into the head. */
function styleElement(tree: SegmentNode): unknown {
  const sheets = new Map<string, string>()
  for (const file of filesOf(tree)) for (const { id, css } of cssOf(file)) sheets.set(id, css)
  if (sheets.size === 0) return null
  return jsx('style', { href: 'svc-app', precedence: 'svc', children: [...sheets.values()].join('\n') })
}

function filesOf(node: SegmentNode): readonly string[] {
  const own = [node.layout, node.template, node.error, node.loading, node.notFound, node.page, node.default]
  const files = own.filter((file) => file !== undefined)
  for (const slot of Object.values(node.slots)) if (slot !== null) files.push(...filesOf(slot))
  return files
}
