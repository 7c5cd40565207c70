import type { Answer } from './ask.ts'

/** One thing in which two responses differ. */
export interface Difference {
  readonly field: string
  readonly nginx: string
  readonly svc: string
}

/** Fields of the connection, of the time, and those that only one of the servers has by its nature. */
const NOT_COMPARED: ReadonlySet<string> = new Set([
  'age',
  'alt-svc',
  'connection',
  'content-length',
  'date',
  'etag',
  'expires',
  'keep-alive',
  'server',
  'transfer-encoding',
  'x-request-id',
])
/** Fields of pages that a server makes itself; it may not compress its own. */
const NOT_OF_PAGES: ReadonlySet<string> = new Set(['content-encoding', 'vary'])
/** Fields that svc sends with a status as RFC 9110 has it, and nginx does not. */
const OF_STATUS: Readonly<Record<number, string>> = { 206: 'accept-ranges', 405: 'allow' }
/** The servers answer one after the other. */
const SLACK_SECONDS = 30

function fieldOf({ headers }: Answer, name: string): string {
  return (headers.get(name) ?? []).join(', ')
}

/** Seconds from the response until it expires; undefined: it does not say. */
function lifetime(answer: Answer): number | undefined {
  const seconds = (Date.parse(fieldOf(answer, 'expires')) - Date.parse(fieldOf(answer, 'date'))) / 1000
  return Number.isNaN(seconds) ? undefined : seconds
}

/** A page that nginx makes itself: svc has its own. */
function isOwnPage({ beginning, status }: Answer): boolean {
  return status >= 300 && (beginning.includes('<center>nginx') || beginning === '')
}

/** Each server may name its own port. */
function withoutPort(value: string, base: URL): string {
  return base.port === '' ? value : value.replace(new RegExp(`^(https?://[^/]*):${base.port}(?=/|$)`), '$1')
}

function cookieNames(value: string): string {
  return value.replace(/=[^;,]*/g, '=')
}

function comparable(name: string, answer: Answer, base: URL): string {
  const value = fieldOf(answer, name)
  if (name === 'location') return withoutPort(value, base)
  return name === 'set-cookie' ? cookieNames(value) : value.replace(/\s*([,;])\s*/g, '$1 ')
}

/** The two servers, by their addresses. */
export interface Bases {
  readonly nginx: URL
  readonly svc: URL
}

/**
 * Compares two responses to the same request.
 * @param isBodySteady false: nginx answers differently each time, so bodies are not compared
 */
export function compareAnswers(nginx: Answer, svc: Answer, bases: Bases, isBodySteady: boolean): Difference[] {
  if (nginx.status !== svc.status) return [{ field: 'status', nginx: String(nginx.status), svc: String(svc.status) }]
  const differences: Difference[] = []
  const add = (field: string, left: string, right: string) => {
    if (left !== right) differences.push({ field, nginx: left, svc: right })
  }
  const isPage = isOwnPage(nginx)
  for (const name of new Set([...nginx.headers.keys(), ...svc.headers.keys()])) {
    if (NOT_COMPARED.has(name) || OF_STATUS[nginx.status] === name || (isPage && NOT_OF_PAGES.has(name))) continue
    const left = comparable(name, nginx, bases.nginx)
    const right = comparable(name, svc, bases.svc)
    const isMediaType = name === 'content-type'
    // The charset of a page that a server makes itself is its own matter.
    if (isPage && isMediaType) add(name, left.split(';', 1)[0] ?? '', right.split(';', 1)[0] ?? '')
    else add(name, left, right)
  }
  add('etag', String(nginx.headers.has('etag')), String(svc.headers.has('etag')))
  const [left, right] = [lifetime(nginx), lifetime(svc)]
  if (left === undefined || right === undefined || Math.abs(left - right) > SLACK_SECONDS) {
    add('expires', left === undefined ? '' : `${left} s`, right === undefined ? '' : `${right} s`)
  }
  if (!isPage && isBodySteady) add('body', `${nginx.bytes} bytes ${nginx.digest}`, `${svc.bytes} bytes ${svc.digest}`)
  return differences
}
