import { digestOf } from '../host/site-log.ts'

/** The error of `redirect`, `notFound` and their kin, read back into its parts. */
export type ControlFlow =
  | { readonly kind: 'redirect'; readonly url: string; readonly status: number }
  | { readonly kind: 'http'; readonly status: 401 | 403 | 404 }

const redirectPrefix = 'NEXT_REDIRECT'
const httpPrefix = 'NEXT_HTTP_ERROR_FALLBACK'

/** Thrown to leave a render or a handler on purpose. `digest` has the form that App Router code looks for. */
class ControlFlowError extends Error {
  readonly digest: string

  constructor(digest: string) {
    super(digest)
    this.name = 'ControlFlowError'
    this.digest = digest
  }
}

/** An error that answers with a redirect: `NEXT_REDIRECT;<push or replace>;<url>;<status>;`. */
export function redirectError(url: string, type: string, status: number): ControlFlowError {
  return new ControlFlowError(`${redirectPrefix};${type};${url};${status};`)
}

/** An error that shows the nearest `not-found.*` (404) or the built-in page of another status. */
export function httpError(status: 401 | 403 | 404): ControlFlowError {
  return new ControlFlowError(`${httpPrefix};${status}`)
}

/** Reads the redirect or status that a thrown value asks for; undefined: it is an ordinary error. Matches by digest, so copies of a module agree. */
export function controlFlowOf(thrown: unknown): ControlFlow | undefined {
  const digest = digestOf(thrown)
  if (digest === undefined) return undefined
  if (digest.startsWith(`${httpPrefix};`)) return httpFlow(digest)
  return digest.startsWith(`${redirectPrefix};`) ? redirectFlow(digest) : undefined
}

function httpFlow(digest: string): ControlFlow | undefined {
  const status = Number(digest.slice(httpPrefix.length + 1))
  return status === 401 || status === 403 || status === 404 ? { kind: 'http', status } : undefined
}

/** The URL may hold semicolons of its own, so the parts are taken from both ends. */
function redirectFlow(digest: string): ControlFlow | undefined {
  const parts = digest.split(';')
  const status = Number(parts.at(-2))
  const url = parts.slice(2, -2).join(';')
  return status >= 300 && status < 400 ? { kind: 'redirect', url, status } : undefined
}
