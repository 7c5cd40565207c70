import { AsyncLocalStorage } from 'node:async_hooks'
import { codeOf, messageOf } from '@svc/core'
import { SupervisorError } from '@svc/processes'

/** An authority that sends nothing for this long in a request has stalled. */
const SILENCE_MS = 30_000
const REQUEST_TIMEOUT_MS = 60_000
const MAX_ANSWER_BYTES = 1024 * 1024
const MAX_REDIRECTS = 3
/** The client does not wait for a longer pause than this: a later order retries. */
const MAX_PAUSE_MS = 30_000
const MAX_REASON_CHARS = 300
const TOO_MANY_REQUESTS = 429
const PROBLEM_PREFIX = 'urn:ietf:params:acme:error:'

/** The authority's reason to refuse an order for now. */
export type Refusal =
  /** The account is unknown or no longer served. */
  | 'account'
  /** Too many requests or certificates. */
  | 'rate_limit'
  /** The authority is overloaded: retry later. */
  | 'busy'

/** Turns the authority's text into one printable line of bounded length. */
export function reasonText(text: string): string {
  const line = text.replace(/\p{Cc}+/gu, ' ').trim()
  return line.length <= MAX_REASON_CHARS ? line : `${line.slice(0, MAX_REASON_CHARS)}...`
}

/** Seconds or a date (RFC 9110 section 10.2.3), in milliseconds from now. 0: missing or invalid. */
function pauseOf(field: unknown): number {
  const text = String(field ?? '')
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - Date.now()
  return Number.isSafeInteger(ms) && ms > 0 ? ms : 0
}

function problemOf(body: unknown): { readonly type: string; readonly detail: string } {
  try {
    const { type, detail } = JSON.parse(String(body))
    return { type: String(type ?? '').replace(PROBLEM_PREFIX, ''), detail: String(detail ?? '') }
  } catch {
    return { type: '', detail: '' }
  }
}

function refused(why: Refusal, status: number, detail: string, retryAfterMs: number): SupervisorError {
  const message = detail === '' ? `the authority responded with status ${status}` : reasonText(detail)
  return new SupervisorError('SUP_CERTIFICATE', message, { data: { refusal: why, retryAfterMs } })
}

/**
 * Checks a response before the library does: the library waits in the middle of an order for as long as the authority asks, and
 * keeps only a text of the problem (RFC 8555 sections 6.6 and 6.7).
 * @throws SUP_CERTIFICATE with `data.refusal`, a `Refusal`, and `data.retryAfterMs`
 */
function check(status: number, retryAfter: unknown, body: unknown): void {
  if (status < 400) return
  const { type, detail } = problemOf(body)
  const pauseMs = pauseOf(retryAfter)
  if (type === 'rateLimited' || status === TOO_MANY_REQUESTS) throw refused('rate_limit', status, detail, pauseMs)
  const isForgotten = type === 'accountDoesNotExist' || (type === 'unauthorized' && /account/i.test(detail))
  if (isForgotten) throw refused('account', status, detail, pauseMs)
  if (pauseMs > MAX_PAUSE_MS) throw refused('busy', status, detail, pauseMs)
}

/** True if an error is a response with an error status. */
function isAnswer(error: unknown): error is object {
  return typeof error === 'object' && error !== null && 'response' in error && error.response !== undefined
}

/** The order that a request belongs to: when it ends, no further request is sent. */
const orders = new AsyncLocalStorage<AbortSignal>()

async function load() {
  const { default: acme } = await import('acme-client')
  const { axios } = acme
  Object.assign(axios.defaults, { timeout: SILENCE_MS, maxContentLength: MAX_ANSWER_BYTES, maxRedirects: MAX_REDIRECTS })
  // An instance without the library's response interceptors: without a response, they wait for more than a minute and then
  // throw on the missing response.
  const plain = axios.create()
  axios.defaults.adapter = async (config) => {
    try {
      return await plain.request({ ...config, adapter: 'http', transformRequest: [], transformResponse: [] })
    } catch (cause) {
      if (isAnswer(cause)) throw Object.assign(cause, { config })
      const isLate = config.signal?.aborted === true
      const why = isLate
        ? `no complete response within ${REQUEST_TIMEOUT_MS / 1000} seconds`
        : messageOf(cause) || String(codeOf(cause))
      // Otherwise the error names the end of the request instead of its reason.
      delete config.signal
      throw new SupervisorError('SUP_AUTHORITY', reasonText(why), { cause })
    }
  }
  axios.interceptors.request.use((config) => {
    const order = orders.getStore()
    // The library does not retry errors without a request.
    if (order?.aborted === true) throw new SupervisorError('SUP_CERTIFICATE', 'the order was aborted')
    const limit = AbortSignal.timeout(REQUEST_TIMEOUT_MS)
    config.signal = order === undefined ? limit : AbortSignal.any([order, limit])
    const read = [axios.defaults.transformResponse ?? []].flat()
    config.transformResponse = [
      (body, headers, status = 0) => {
        check(status, headers['retry-after'], body)
        return body
      },
      ...read,
    ]
    return config
  })
  return acme
}

let loaded: ReturnType<typeof load> | undefined

/** Loaded on demand: the library is large, and most servers never order a certificate. */
export type Acme = Awaited<ReturnType<typeof load>>

/** Runs one order with the library, whose requests all end with `signal`. */
export async function withAuthority<T>(signal: AbortSignal, order: (acme: Acme) => Promise<T>): Promise<T> {
  loaded ??= load()
  const acme = await loaded
  return orders.run(signal, () => order(acme))
}
