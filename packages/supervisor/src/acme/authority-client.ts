import { AsyncLocalStorage } from 'node:async_hooks'
import { codeOf, messageOf } from '@svc/core'
import { SupervisorError } from '@svc/processes'

/** Longest silence of an authority within one request. */
const SILENCE_MS = 30_000
const REQUEST_TIMEOUT_MS = 60_000
const MAX_ANSWER_BYTES = 1024 * 1024
const MAX_REDIRECTS = 3
/** Whoever asks for a longer pause is not waited for: another order comes later. */
const MAX_PAUSE_MS = 30_000
const MAX_REASON_CHARS = 300
const TOO_MANY_REQUESTS = 429
const PROBLEM_PREFIX = 'urn:ietf:params:acme:error:'

/** Why an authority does not want to go on with an order now. */
export type Refusal =
  /** It does not know the account, or does not serve it any more. */
  | 'account'
  /** Too many requests or certificates. */
  | 'rate_limit'
  /** It has to be left alone for a while. */
  | 'busy'

/** What it says, for people: one line of bounded length, whatever came. */
export function reasonText(text: string): string {
  const line = text.replace(/\p{Cc}+/gu, ' ').trim()
  return line.length <= MAX_REASON_CHARS ? line : `${line.slice(0, MAX_REASON_CHARS)}...`
}

/** Seconds or a date (RFC 9110 section 10.2.3), in milliseconds from now. 0: nothing that can be read. */
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
  const message = detail === '' ? `the authority answered ${status}` : reasonText(detail)
  return new SupervisorError('SUP_CERTIFICATE', message, { data: { refusal: why, retryAfterMs } })
}

/**
 * Looks at an answer before the library does, which waits in the middle of an order however long it is told to, and keeps no more than a
 * text of what the problem is (RFC 8555 sections 6.6 and 6.7).
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

/** Whether an error is an answer with a status that is no success. */
function isAnswer(error: unknown): error is object {
  return typeof error === 'object' && error !== null && 'response' in error && error.response !== undefined
}

/** The order that a request belongs to: when it is over, nothing more is asked. */
const orders = new AsyncLocalStorage<AbortSignal>()

async function load() {
  const { default: acme } = await import('acme-client')
  const { axios } = acme
  Object.assign(axios.defaults, { timeout: SILENCE_MS, maxContentLength: MAX_ANSWER_BYTES, maxRedirects: MAX_REDIRECTS })
  // An instance without what the library does with answers: where there is none, it waits for more than a minute and then
  // trips over that.
  const plain = axios.create()
  axios.defaults.adapter = async (config) => {
    try {
      return await plain.request({ ...config, adapter: 'http', transformRequest: [], transformResponse: [] })
    } catch (cause) {
      if (isAnswer(cause)) throw Object.assign(cause, { config })
      const isLate = config.signal?.aborted === true
      const why = isLate
        ? `no whole answer within ${REQUEST_TIMEOUT_MS / 1000} seconds`
        : messageOf(cause) || String(codeOf(cause))
      // Else the end of the request is told of in place of its reason.
      delete config.signal
      throw new SupervisorError('SUP_AUTHORITY', reasonText(why), { cause })
    }
  }
  axios.interceptors.request.use((config) => {
    const order = orders.getStore()
    // Errors without a request are not tried again by the library.
    if (order?.aborted === true) throw new SupervisorError('SUP_CERTIFICATE', 'the order was given up')
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

/** The library is large, and most servers never order anything. */
export type Acme = Awaited<ReturnType<typeof load>>

/** Runs one order with the library, whose requests all end with `signal`. */
export async function withAuthority<T>(signal: AbortSignal, order: (acme: Acme) => Promise<T>): Promise<T> {
  loaded ??= load()
  const acme = await loaded
  return orders.run(signal, () => order(acme))
}
