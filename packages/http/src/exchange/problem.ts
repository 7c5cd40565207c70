import { STATUS_CODES } from 'node:http'
import { AppError } from '@svc/core'
import { parseWeight } from '../fields/accept-encoding.ts'
import { splitOutsideQuotes } from '../syntax/quoted-list.ts'
import type { HeaderList, ResponseHead } from './http-exchange.ts'

/** An error answer (RFC 9457). */
export interface Problem {
  readonly status: number
  /** Stable snake_case word, listed in the reference. */
  readonly code: string
  /** @default the reason phrase of the status */
  readonly title?: string
  /** Explanation of this failure for the client. Never the message of an internal error. */
  readonly detail?: string
  /** Id under which the log has more. */
  readonly requestId?: string
  /** Errors by part of the request body. */
  readonly errors?: ReadonlyArray<{ readonly path: string; readonly message: string }>
}

/** A complete response. */
export interface CompleteResponse {
  readonly head: ResponseHead
  readonly body: Uint8Array
}

/**
 * Builds the response for a problem: `application/problem+json`, or a small page for a client that would rather read HTML.
 * @param accept the Accept field of the request
 * @param headers further fields, e.g. Allow or Retry-After
 */
export function problemResponse(problem: Problem, accept?: string, headers: HeaderList = []): CompleteResponse {
  const isHtml = accept !== undefined && prefersHtml(accept)
  const body = isHtml ? htmlPage(problem) : JSON.stringify(problemBody(problem))
  const own: HeaderList = [
    ['content-type', isHtml ? 'text/html; charset=utf-8' : 'application/problem+json'],
    ['cache-control', 'no-store'],
    ['vary', 'Accept'],
  ]
  const policy: HeaderList = isHtml ? [['content-security-policy', "default-src 'none'; style-src 'unsafe-inline'"]] : []
  return { head: { status: problem.status, headers: [...own, ...policy, ...headers] }, body: Buffer.from(body, 'utf8') }
}

/**
 * The problem that a thrown value is to a client: an `AppError` with a status gives its code in lower case, and its message
 * only if it is exposable; anything else is an internal error without details.
 */
export function problemOf(error: unknown, requestId?: string): Problem {
  const id = requestId === undefined ? {} : { requestId }
  if (!(error instanceof AppError) || error.status === undefined) return { status: 500, code: 'internal_error', ...id }
  const detail = error.exposable ? { detail: error.message } : {}
  return { status: error.status, code: error.code.toLowerCase(), ...detail, ...id }
}

/** Returns true if an Accept field names HTML and likes nothing that is JSON better (RFC 9110 section 12.5.1). */
export function prefersHtml(accept: string): boolean {
  let html = 0
  let json = 0
  for (const element of splitOutsideQuotes(accept, ',')) {
    const [type = '', ...parameters] = element.toLowerCase().split(';')
    const weight = parseWeight(parameters) ?? 0
    if (type.trim() === 'text/html' || type.trim() === 'application/xhtml+xml') html = Math.max(html, weight)
    if (type.trim() === 'application/json' || type.trim() === 'application/problem+json') json = Math.max(json, weight)
  }
  return html > 0 && html >= json
}

function problemBody(problem: Problem): Record<string, unknown> {
  const { status, code, title = statusText(status), detail, requestId, errors } = problem
  return { type: 'about:blank', title, status, code, detail, request_id: requestId, errors }
}

function htmlPage({ status, code, title = statusText(status), detail, requestId }: Problem): string {
  const heading = escapeHtml(`${status} ${title}`)
  const lines = [detail, code, requestId === undefined ? undefined : `Request ${requestId}`]
  const paragraphs = lines.map((line) => (line === undefined ? '' : `<p>${escapeHtml(line)}</p>`)).join('')
  return (
    `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${heading}</title>` +
    '<meta name="viewport" content="width=device-width"><style>body{font:1rem/1.5 system-ui,sans-serif;margin:15vh auto;' +
    `max-width:40rem;padding:0 1rem}</style></head><body><h1>${heading}</h1>${paragraphs}</body></html>\n`
  )
}

const htmlEscapes: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => htmlEscapes[character] ?? character)
}

/** Reason phrase of a status, or "Unknown" (RFC 9110 section 15). */
export function statusText(status: number): string {
  return STATUS_CODES[status] ?? 'Unknown'
}

const statusLines: ReadonlyMap<number, string> = new Map(
  Object.entries(STATUS_CODES).map(([status, text]) => [Number(status), `${status} ${text}`]),
)

/** Status and reason phrase as they stand in a status line, e.g. "404 Not Found". */
export function statusLine(status: number): string {
  return statusLines.get(status) ?? `${status} Unknown`
}
