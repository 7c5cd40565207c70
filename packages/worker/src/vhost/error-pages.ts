import type { ErrorPageSpec } from '@svc/vhosts'
import type { InnerTarget } from './phase-run.ts'
import { isRedirect } from './rewriting.ts'
import type { RunState } from './run-state.ts'
import { readForAnswer, type Templates } from './templates.ts'
import { targetOf } from './try-files.ts'

/** The page of an error: a path inside, or a redirect. */
type ErrorPage =
  | { readonly kind: 'inside'; readonly target: InnerTarget }
  | { readonly kind: 'redirect'; readonly status: number; readonly url: string }

/** The page of an error in the location where it came up; undefined: it has none, or a page was shown already. */
export function errorPageOf(state: RunState, templates: Templates, status: number): ErrorPage | undefined {
  const page = pageFor(state, status)
  if (state.location.settings.errorPages.length > 0) state.hadError = true
  return page === undefined ? undefined : shown(state, templates, page)
}

/** True if an error would be shown by a page. */
export function hasErrorPage(state: RunState, status: number): boolean {
  return pageFor(state, status) !== undefined
}

function pageFor({ location, hadError, changesLeft }: RunState, status: number): ErrorPageSpec | undefined {
  if (hadError || changesLeft === 0) return undefined
  return location.settings.errorPages.find(({ statuses }) => statuses.includes(status))
}

function shown(state: RunState, templates: Templates, { answer, target }: ErrorPageSpec): ErrorPage {
  if (answer !== undefined) state.status = answer === 'own' ? undefined : answer
  if (target.kind === 'named') return { kind: 'inside', target: { named: target.name } }
  const text = readForAnswer(state, templates.of(target.kind === 'uri' ? target.uri : target.url))
  if (text.startsWith('@')) return { kind: 'inside', target: targetOf(text) }
  if (target.kind === 'redirect' || !text.startsWith('/')) {
    const status = typeof answer === 'number' && isRedirect(answer) ? answer : 302
    return { kind: 'redirect', status, url: text }
  }
  if (state.method !== 'HEAD') state.method = 'GET'
  return { kind: 'inside', target: targetOf(text) }
}
