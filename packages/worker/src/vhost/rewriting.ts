import { unescapeRedirect } from '@svc/http'
import { Pattern, type RewriteStep, splitAtQuestion } from '@svc/vhosts'
import { readForAnswer as read, type Templates } from './templates.ts'
import type { VariableInput } from './variables.ts'

/** A request whose path can be rewritten. */
export interface Rewritable extends VariableInput {
  uri: string
  args: string
  quotesCaptures: boolean
  /** True if escapes or a plus sign stood in the path as sent. */
  readonly isQuoted: boolean
  /** The path was rewritten. `isFinal`: no other location is searched (`break`). */
  rewritten(isFinal: boolean): void
}

/** How a level of rewriting ends. */
export type RewriteOutcome =
  | { readonly kind: 'on' }
  | { readonly kind: 'redirect'; readonly status: number; readonly url: string }
  | { readonly kind: 'text'; readonly status: number; readonly text: string }
  | { readonly kind: 'status'; readonly status: number }

type Step = (request: Rewritable) => RewriteOutcome | 'next'

const on: RewriteOutcome = { kind: 'on' }
const redirects: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

/** True if a status is answered with a URL to go to. */
export function isRedirect(status: number): boolean {
  return redirects.has(status)
}

/** Compiles `rewrite` and `return` of one level; the result runs them in their order. */
export function compileRewrites(steps: readonly RewriteStep[], templates: Templates): (request: Rewritable) => RewriteOutcome {
  if (steps.length === 0) return () => on
  const compiled = steps.map((step) =>
    step.kind === 'return' ? compileReturn(step, templates) : compileRewrite(step, templates),
  )
  return (request) => {
    for (const step of compiled) {
      const outcome = step(request)
      if (outcome !== 'next') return outcome
    }
    return on
  }
}

function compileReturn({ status, text }: Extract<RewriteStep, { kind: 'return' }>, templates: Templates): Step {
  if (text === undefined && status >= 400) return () => ({ kind: 'status', status })
  const template = text === undefined ? undefined : templates.of(text)
  return (request) => {
    const value = template === undefined ? '' : read(request, template)
    return isRedirect(status) ? { kind: 'redirect', status, url: value } : { kind: 'text', status, text: value }
  }
}

function compileRewrite(step: Extract<RewriteStep, { kind: 'rewrite' }>, templates: Templates): Step {
  const pattern = new Pattern(step.pattern)
  const status = redirectStatusOf(step)
  const replace = status === undefined ? insideOf(step, templates) : redirectOf(step, status, templates)
  return (request) => {
    if (pattern.test(request.uri, request)) return replace(request)
    // As with nginx, not even those of the location are left.
    request.captures = []
    return 'next'
  }
}

function redirectStatusOf({ then, replacement }: Extract<RewriteStep, { kind: 'rewrite' }>): number | undefined {
  if (then === 'permanent') return 301
  const [first] = replacement
  const isUrl = typeof first === 'string' ? /^https?:\/\//.test(first) : first?.variable === 'scheme'
  return then === 'redirect' || isUrl ? 302 : undefined
}

function redirectOf(step: Extract<RewriteStep, { kind: 'rewrite' }>, status: number, templates: Templates): Step {
  const template = templates.of(step.replacement)
  const hasArgs = splitAtQuestion(step.replacement) !== undefined
  return (request) => {
    const url = unescapeRedirect(quoting(request, () => read(request, template)))
    const added = step.keepsArgs && request.args !== '' ? `${hasArgs ? '&' : '?'}${request.args}` : ''
    // It counts as rewritten, though the new path is never used.
    request.rewritten(false)
    return { kind: 'redirect', status, url: url + added }
  }
}

function insideOf({ replacement, then, keepsArgs }: Extract<RewriteStep, { kind: 'rewrite' }>, templates: Templates): Step {
  const split = splitAtQuestion(replacement)
  const path = templates.of(split?.[0] ?? replacement)
  const query = split === undefined ? undefined : templates.of(split[1])
  const ends = then === 'last' || then === 'break'
  return (request) => {
    request.rewritten(then === 'break')
    const uri = read(request, path)
    if (query !== undefined) {
      const args = quoting(request, () => read(request, query))
      request.args = keepsArgs && request.args !== '' ? `${args}&${request.args}` : args
    } else if (!keepsArgs) request.args = ''
    // A path of no length is a fault of the configuration.
    if (uri === '') return { kind: 'status', status: 500 }
    request.uri = uri
    return ends ? on : 'next'
  }
}

/** Captures that go into a URL are escaped where the path had been. */
function quoting(request: Rewritable, make: () => string): string {
  request.quotesCaptures = request.isQuoted
  const text = make()
  request.quotesCaptures = false
  return text
}
