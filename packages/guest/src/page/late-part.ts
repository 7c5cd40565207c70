import type { SegmentNode } from '@svc/site'
import { escapeHtml } from '../metadata/escape-html.ts'
import { controlFlowOf } from '../scope/control-flow.ts'
import { builtinErrorPart } from './builtin-pages.ts'
import type { PageDocument } from './page-document.ts'
import { chainOf } from './page-recovery.ts'
import type { LatePart } from './page-stream.ts'
import { locationOf } from './redirect-target.ts'
import { collect, renderPass } from './render-pass.ts'
import { errorElement, httpElement } from './segment-tree.ts'
import type { StreamFailure } from './streamed-html.ts'

/**
 * Renders what stands in for a boundary that failed after the page had begun: the nearest `error.*` or `not-found.*` around
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
    const html = node && (await tryRender(page, httpElement(page.context, node, flow), failure))
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
  guest.handled(error, candidates[0]?.error)
  for (const node of candidates) {
    const html = await tryRender(page, errorElement(page.context, node, { kind: 'error', error }), failure)
    if (html !== undefined) return html
  }
  return builtinErrorPart
}

/** The HTML of an element; undefined when it fails itself, which goes to the log. */
async function tryRender(page: PageDocument, element: unknown, failure: StreamFailure): Promise<string | undefined> {
  const { runtime, input } = page.context
  const pass = await renderPass(input.scope, runtime, element, { waitForAll: true, prefix: failure.target.replace(/\W/g, '') })
  if (pass.errors.length === 0 && pass.outcome.kind !== 'failed') return await collect(input.scope, pass.outcome.source)
  input.scope.guest.handled(pass.errors[0])
  return undefined
}
