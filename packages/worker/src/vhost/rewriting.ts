import { unescapeRedirect } from '@svc/http'
import { type LocationSettings, Pattern, type RewriteStep, splitAtQuestion } from '@svc/vhosts'
import { compileCondition, type FileLookup } from './conditions.ts'
import { readForAnswer as read, type Templates } from './templates.ts'
import type { VariableInput } from './variable-input.ts'

/** A request whose path can be rewritten. */
export interface Rewritable<Location> extends VariableInput {
  /** Where it is: `if` changes it. */
  location: Location
  uri: string
  args: string
  quotesCaptures: boolean
  /** True if escapes or a plus sign stood in the path as sent. */
  readonly isQuoted: boolean
  /** The path was rewritten. `isFinal`: no other location is searched (`break`). */
  rewritten(isFinal: boolean): void
  /** The rate of the response is limited, from now on. */
  limitRate(): void
  /** Replaces `$args`. */
  setArgs(args: string): void
  /** No other location is searched, whatever has been rewritten. */
  endRewriting(): void
}

/** How a level of rewriting ends. */
export type RewriteOutcome =
  | { readonly kind: 'on' }
  | { readonly kind: 'redirect'; readonly status: number; readonly url: string }
  | { readonly kind: 'text'; readonly status: number; readonly text: string }
  | { readonly kind: 'status'; readonly status: number }

type Step<Location> = (request: Rewritable<Location>) => RewriteOutcome | 'next'

/** Dependencies of compiled steps. */
interface RewriteTools<Location> {
  readonly templates: Templates
  readonly files: FileLookup
  /** Makes the location that an `if` leads to. */
  readonly locationOf: (settings: LocationSettings) => Location
}

const on: RewriteOutcome = { kind: 'on' }
const redirects: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

/** True if a status is answered with a URL to go to. */
export function isRedirect(status: number): boolean {
  return redirects.has(status)
}

/** Compiles the rewriting of one level; the result runs it in its order. */
export function compileRewrites<Location>(
  steps: readonly RewriteStep[],
  tools: RewriteTools<Location>,
): (request: Rewritable<Location>) => RewriteOutcome {
  if (steps.length === 0) return () => on
  const run = inOrder(steps.map((step) => compileStep(step, tools)))
  return (request) => {
    const outcome = run(request)
    return outcome === 'next' ? on : outcome
  }
}

function inOrder<Location>(steps: readonly Step<Location>[]): Step<Location> {
  return (request) => {
    for (const step of steps) {
      const outcome = step(request)
      if (outcome !== 'next') return outcome
    }
    return 'next'
  }
}

function compileStep<Location>(step: RewriteStep, tools: RewriteTools<Location>): Step<Location> {
  switch (step.kind) {
    case 'return':
      return compileReturn(step, tools.templates)
    case 'rewrite':
      return compileRewrite(step, tools.templates)
    case 'set':
      return compileSet(step, tools.templates)
    case 'break':
      return (request) => {
        request.endRewriting()
        return on
      }
    case 'if':
      return compileIf(step, tools)
  }
}

function compileSet<Location>({ variable, value }: StepOf<'set'>, templates: Templates): Step<Location> {
  const template = templates.of(value)
  return (request) => {
    const text = read(request, template)
    if (variable === 'args') request.setArgs(text)
    else request.setVariable(variable, text)
    if (variable === 'limit_rate') request.limitRate()
    return 'next'
  }
}

function compileIf<Location>({ condition, steps, settings }: StepOf<'if'>, tools: RewriteTools<Location>): Step<Location> {
  const isTrue = compileCondition(condition, tools)
  const run = inOrder(steps.map((step) => compileStep(step, tools)))
  const location = settings === undefined ? undefined : tools.locationOf(settings)
  return (request) => {
    if (!isTrue(request)) return 'next'
    if (location !== undefined) request.location = location
    return run(request)
  }
}

type StepOf<Kind extends RewriteStep['kind']> = Extract<RewriteStep, { kind: Kind }>

function compileReturn<Location>({ status, text }: StepOf<'return'>, templates: Templates): Step<Location> {
  if (text === undefined && status >= 400) return () => ({ kind: 'status', status })
  const template = text === undefined ? undefined : templates.of(text)
  return (request) => {
    const value = template === undefined ? '' : read(request, template)
    return isRedirect(status) ? { kind: 'redirect', status, url: value } : { kind: 'text', status, text: value }
  }
}

function compileRewrite<Location>(step: StepOf<'rewrite'>, templates: Templates): Step<Location> {
  const pattern = new Pattern(step.pattern)
  const status = redirectStatusOf(step)
  const replace: Step<Location> = status === undefined ? insideOf(step, templates) : redirectOf(step, status, templates)
  return (request) => {
    if (pattern.test(request.uri, request)) return replace(request)
    // As with nginx, not even those of the location are left.
    request.captures = []
    return 'next'
  }
}

function redirectStatusOf({ then, replacement }: StepOf<'rewrite'>): number | undefined {
  if (then === 'permanent') return 301
  const [first] = replacement
  const isUrl = typeof first === 'string' ? /^https?:\/\//.test(first) : first?.variable === 'scheme'
  return then === 'redirect' || isUrl ? 302 : undefined
}

function redirectOf<Location>(step: StepOf<'rewrite'>, status: number, templates: Templates): Step<Location> {
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

function insideOf<Location>({ replacement, then, keepsArgs }: StepOf<'rewrite'>, templates: Templates): Step<Location> {
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
function quoting(request: Pick<Rewritable<unknown>, 'quotesCaptures' | 'isQuoted'>, make: () => string): string {
  request.quotesCaptures = request.isQuoted
  const text = make()
  request.quotesCaptures = false
  return text
}
