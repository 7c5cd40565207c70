import type { SegmentNode } from '@svc/site'
import type { HeadTag } from '../metadata/tag-list.ts'
import { Fragment, jsx, LayoutContext, Suspense } from '../react/react-runtime.ts'
import { cssOf } from '../registry/registry.ts'
import { httpError } from '../scope/control-flow.ts'
import { BoundaryMarks, type BoundaryPlace, type BoundaryPlan, type Replacement } from './boundaries.ts'
import { builtinHttpPage, minimalDocument } from './builtin-pages.ts'
import { errorProps } from './error-props.ts'
import { componentOf } from './module-exports.ts'
import { fallbackHead, type PageHead, pageHead } from './page-head.ts'
import { childrenLine, namesWith, type PageInput, pageProps } from './page-input.ts'

/** Parts that the elements of one build of a page share. */
interface TreeContext {
  readonly input: PageInput
  readonly plan: BoundaryPlan
  readonly marks: BoundaryMarks
  /** Rendered beside the page, inside all its boundaries: throws the error of `generateMetadata`. */
  readonly outlet: unknown
}

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

/** Throws the error of `generateMetadata` in the place of the page, so that the page's own boundaries deal with it. */
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

/** Builds the element of a node and of the nodes below it. `above` are the nodes around it, innermost first. */
function segmentElement(
  context: TreeContext,
  node: SegmentNode,
  namesAbove: readonly string[] = [],
  above: readonly SegmentNode[] = [],
): unknown {
  const names = namesWith(namesAbove, node)
  const chain = [node, ...above]
  const place: BoundaryPlace = { chain }
  let element = contentElement(context, node, names, chain)
  const replacement = context.plan.replaced.get(node)
  if (replacement?.kind === 'http') element = httpElement(node, replacement)
  else element = probed(context, 'http', node.notFound !== undefined || above.length === 0, place, element)
  if (node.loading !== undefined && context.plan.streams) element = loadingElement(context, node.loading, place, element)
  if (replacement?.kind === 'error') element = errorElement(context, node, replacement)
  else element = probed(context, 'error', node.error !== undefined, place, element)
  if (node.template !== undefined) element = jsx(componentOf(node.template), { children: element })
  return node.layout === undefined ? element : layoutElement(context, node, node.layout, { names, chain, children: element })
}

function contentElement(
  context: TreeContext,
  node: SegmentNode,
  names: readonly string[],
  chain: readonly SegmentNode[],
): unknown {
  if (node.page !== undefined) {
    const page = jsx(componentOf(node.page), pageProps(context.input))
    if (context.outlet === null) return page
    return jsx(Fragment, { children: [context.outlet, page] })
  }
  if (node.default !== undefined) {
    const { input } = context
    return jsx(componentOf(node.default), {
      get params() {
        return input.allParams
      },
    })
  }
  return slotElement(context, node.slots['children'], names, chain)
}

function slotElement(
  context: TreeContext,
  slot: SegmentNode | null | undefined,
  names: readonly string[],
  chain: readonly SegmentNode[],
): unknown {
  if (slot === null || slot === undefined) return jsx(Missing, {})
  return segmentElement(context, slot, names, chain)
}

/** Stands where a slot has neither a page nor a default for the URL. */
function Missing(): never {
  throw httpError(404)
}

interface LayoutParts {
  readonly names: readonly string[]
  readonly chain: readonly SegmentNode[]
  readonly children: unknown
}

function layoutElement(context: TreeContext, node: SegmentNode, file: string, { names, chain, children }: LayoutParts): unknown {
  const { input } = context
  const props = {
    children,
    get params() {
      return input.paramsFor(names)
    },
  }
  for (const [name, slot] of Object.entries(node.slots)) {
    if (name !== 'children') Object.assign(props, { [name]: slotElement(context, slot, names, chain) })
  }
  const layout = jsx(componentOf(file), props)
  return jsx(LayoutContext, { value: node, children: layout })
}

function loadingElement(context: TreeContext, file: string, place: BoundaryPlace, children: unknown): unknown {
  const fallback = [context.marks.add(place), jsx(componentOf(file), {})]
  return jsx(Suspense, { fallback, children })
}

/** While a failure is looked for, a boundary is a Suspense boundary whose fallback is nothing but its mark. */
function probed(
  context: TreeContext,
  kind: BoundaryPlan['probe'],
  isHere: boolean,
  place: BoundaryPlace,
  children: unknown,
): unknown {
  if (!isHere || context.plan.probe !== kind) return children
  return jsx(Suspense, { fallback: context.marks.add(place), children })
}

/** The element of a segment's `error.*`. */
export function errorElement(context: TreeContext, node: SegmentNode, replacement: Replacement & { kind: 'error' }): unknown {
  const props = errorProps(replacement.error, context.input.scope.guest.begin.url)
  return node.error === undefined ? null : jsx(componentOf(node.error), props)
}

/** The element of a segment's `not-found.*`, or of the built-in text. */
export function httpElement(node: SegmentNode, replacement: Replacement & { kind: 'http' }): unknown {
  if (replacement.status === 404 && node.notFound !== undefined) return jsx(componentOf(node.notFound), {})
  return builtinHttpPage(replacement.status)
}
