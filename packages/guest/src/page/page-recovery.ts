import type { SegmentNode } from '@svc/site'
import { escapeHtml } from '../metadata/tag-list.ts'
import { type ControlFlow, controlFlowOf } from '../scope/control-flow.ts'
import type { RequestScope } from '../scope/request-scope.ts'
import { type BoundaryKind, type BoundaryMarks, failedBoundaries, type Replacement } from './boundaries.ts'
import { builtinErrorPart } from './builtin-pages.ts'
import { errorElement, httpElement, type PageDocument } from './page-document.ts'
import { childrenLine } from './page-input.ts'
import type { LatePart, StreamFailure } from './page-stream.ts'
import { collect, type RenderPass, renderPass } from './render-pass.ts'
import { locationOf } from './thrown-answer.ts'

/** The answer for a page whose render failed before its first byte. */
type Recovery =
  | { readonly kind: 'html'; readonly status: number; readonly html: string }
  | { readonly kind: 'redirect'; readonly flow: ControlFlow & { kind: 'redirect' } }
  /** No boundary of the page could take it. */
  | { readonly kind: 'unhandled'; readonly error: unknown; readonly flow: ControlFlow | undefined }

/** The parts of a page that recovery needs. */
interface RecoverablePage {
  readonly scope: RequestScope
  readonly tree: SegmentNode
  build(replaced: ReadonlyMap<SegmentNode, Replacement>, probe: BoundaryKind | undefined): PageDocument
}

interface Hit {
  readonly node: SegmentNode
  readonly error: unknown
}

type Probe = { readonly kind: 'hits'; readonly hits: readonly Hit[] } | { readonly kind: 'fine'; readonly html: string }

/** A page has one boundary per segment; each round replaces at least one or fails. */
const maxRounds = 16

/**
 * Deals with a failure before the first byte: finds the boundary that has to show it (see `BoundaryPlan`), builds the page
 * with that segment replaced, and does so again while something fails. Fetches and cached calls are remembered for the
 * request, so that building again is cheap.
 */
export async function recoverPage(
  page: RecoverablePage,
  failed: RenderPass,
  start: ReadonlyMap<SegmentNode, Replacement>,
): Promise<Recovery> {
  const replaced = new Map(start)
  let errors: readonly unknown[] = errorsOf(failed)
  for (let round = 0; round < maxRounds; round++) {
    const redirect = errors.map(controlFlowOf).find((flow) => flow?.kind === 'redirect')
    if (redirect?.kind === 'redirect') return { kind: 'redirect', flow: redirect }
    const probe = await probePage(page, replaced, kindOf(errors[0]))
    if (probe.kind === 'fine') return { kind: 'html', status: statusOf(replaced), html: probe.html }
    if (probe.hits.length === 0) return unhandled(errors[0])
    for (const hit of probe.hits) replace(page, replaced, hit)
    const { element } = page.build(replaced, undefined)
    const pass = await renderPass(page.scope, element, { waitForAll: true })
    errors = errorsOf(pass)
    if (errors.length === 0 && pass.outcome.kind !== 'failed') {
      return { kind: 'html', status: statusOf(replaced), html: await collect(page.scope, pass.outcome.source) }
    }
  }
  return unhandled(errors[0])
}

/** Renders with a mark in every boundary of one kind, to learn which of them caught which error. */
async function probePage(
  page: RecoverablePage,
  replaced: ReadonlyMap<SegmentNode, Replacement>,
  kind: BoundaryKind,
): Promise<Probe> {
  const { element, context } = page.build(replaced, kind)
  const pass = await renderPass(page.scope, element, { waitForAll: true })
  if (pass.outcome.kind === 'failed') return { kind: 'hits', hits: [] }
  const html = await collect(page.scope, pass.outcome.source)
  if (pass.errors.length === 0) return { kind: 'fine', html }
  const hits = failedBoundaries(html).flatMap(({ digest, mark }) => {
    const error = pass.errors[Number(digest)]
    const node = boundaryFor(error, chainOf(page.tree, context.marks, mark), replaced)
    return node === undefined ? [] : [{ node, error }]
  })
  return {
    kind: 'hits',
    hits: hits.filter(({ error }) => kindOf(error) === kind || hits.every((hit) => kindOf(hit.error) !== kind)),
  }
}

/** The innermost segment of a chain that can show a failure. */
function boundaryFor(
  error: unknown,
  chain: readonly SegmentNode[],
  replaced: ReadonlyMap<SegmentNode, Replacement>,
): SegmentNode | undefined {
  const isFree = (node: SegmentNode) => !replaced.has(node)
  if (kindOf(error) === 'http')
    return chain.find((node, index) => isFree(node) && (node.notFound !== undefined || index === chain.length - 1))
  return chain.find((node) => node.error !== undefined && replaced.get(node)?.kind !== 'error')
}

/** Segments around a boundary, innermost first. A Suspense of the site's own counts as standing in the page. */
function chainOf(tree: SegmentNode, marks: BoundaryMarks, mark: string | undefined): readonly SegmentNode[] {
  const place = mark === undefined ? undefined : marks.find(mark)
  return place?.chain ?? childrenLine(tree).toReversed()
}

function replace(page: RecoverablePage, replaced: Map<SegmentNode, Replacement>, { node, error }: Hit): void {
  const flow = controlFlowOf(error)
  if (flow?.kind === 'http') {
    replaced.set(node, flow)
    return
  }
  page.scope.guest.answer.handled(error, node.error)
  replaced.set(node, { kind: 'error', error })
}

function errorsOf(pass: RenderPass): readonly unknown[] {
  if (pass.outcome.kind !== 'failed' || pass.errors.length > 0) return pass.errors
  return [pass.outcome.error]
}

function kindOf(error: unknown): BoundaryKind {
  return controlFlowOf(error)?.kind === 'http' ? 'http' : 'error'
}

function statusOf(replaced: ReadonlyMap<SegmentNode, Replacement>): number {
  const all = [...replaced.values()]
  if (all.some(({ kind }) => kind === 'error')) return 500
  return all.find((one) => one.kind === 'http')?.status ?? 200
}

function unhandled(error: unknown): Recovery {
  return { kind: 'unhandled', error, flow: controlFlowOf(error) }
}

/**
 * Renders the replacement of a boundary that failed after the page had begun: the nearest `error.*` or `not-found.*` around
 * it, then the next one outwards when that fails too, at last a line of built-in text. A redirect becomes a meta refresh.
 */
export async function latePart(
  page: PageDocument,
  tree: SegmentNode,
  errors: readonly unknown[],
  failure: StreamFailure,
): Promise<LatePart> {
  const error = errors[Number(failure.digest)]
  const chain = chainOf(tree, page.context.marks, failure.mark)
  const flow = controlFlowOf(error)
  if (flow?.kind === 'redirect') {
    const delay = flow.status === 308 ? 0 : 1
    const url = escapeHtml(locationOf(flow.url))
    return { html: undefined, beside: `<meta id="__next-page-redirect" http-equiv="refresh" content="${delay};url=${url}"/>` }
  }
  if (flow?.kind === 'http') {
    const node = chain.find(({ notFound }) => notFound !== undefined) ?? chain.at(-1)
    const html = node && (await tryRender(page, httpElement(node, flow), failure))
    return { html: html ?? builtinErrorPart, beside: '<meta name="robots" content="noindex"/>' }
  }
  return { html: await errorHtml(page, chain, error, failure), beside: '' }
}

async function errorHtml(
  page: PageDocument,
  chain: readonly SegmentNode[],
  error: unknown,
  failure: StreamFailure,
): Promise<string> {
  const { guest } = page.context.input.scope
  const candidates = chain.filter((node) => node.error !== undefined)
  guest.answer.handled(error, candidates[0]?.error)
  for (const node of candidates) {
    const html = await tryRender(page, errorElement(page.context, node, { kind: 'error', error }), failure)
    if (html !== undefined) return html
  }
  return builtinErrorPart
}

/** The HTML of an element; undefined when it fails itself, which goes to the log. */
async function tryRender(page: PageDocument, element: unknown, failure: StreamFailure): Promise<string | undefined> {
  const { input } = page.context
  const pass = await renderPass(input.scope, element, { waitForAll: true, prefix: failure.target.replace(/\W/g, '') })
  if (pass.errors.length === 0 && pass.outcome.kind !== 'failed') return await collect(input.scope, pass.outcome.source)
  input.scope.guest.answer.handled(pass.errors[0])
  return undefined
}
