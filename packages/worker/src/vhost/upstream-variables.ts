import type { UpstreamAttempt } from '@svc/upstream'
import { own, type RequestVariable, shared, type VariableInput } from './variable-input.ts'

const MS = 1000

/** A response from L0 comes from no upstream. */
const none = () => () => ''

/** Values of all attempts, between commas; a colon is between the requests to two upstreams. */
function ofAttempts(read: (attempt: UpstreamAttempt) => string): RequestVariable {
  const variable = own(({ trail }) => {
    let text = ''
    for (const [index, attempt] of (trail?.attempts ?? []).entries()) {
      const isBehindRequest = trail?.attempts[index - 1]?.endsRequest === true
      text += `${index === 0 ? '' : isBehindRequest ? ' : ' : ', '}${read(attempt)}`
    }
    return text
  })
  return { ...variable, ofHit: none }
}

function time(ms: number | undefined): string {
  return ms === undefined ? '-' : (Math.floor(ms) / MS).toFixed(3)
}

/** Variables of the upstreams of a request. */
export const upstreamVariables: Readonly<Record<string, RequestVariable>> = {
  upstream_addr: ofAttempts(({ address }) => address),
  upstream_cache_status: {
    ...own((input) => input.cacheWord),
    ofHit: ({ cacheWord }) => {
      const word = cacheWord === '' ? '' : 'HIT'
      return () => word
    },
  },
  upstream_connect_time: ofAttempts(({ connectMs }) => time(connectMs)),
  upstream_header_time: ofAttempts(({ headerMs }) => time(headerMs)),
  upstream_response_length: ofAttempts(({ bytes }) => String(bytes)),
  upstream_response_time: ofAttempts(({ responseMs }) => time(responseMs)),
  upstream_status: ofAttempts(({ status }) => (status === undefined ? '-' : String(status))),
}

/** Of one request; L0 answers others with the same response. */
function ofAnswer(read: (input: VariableInput) => string): RequestVariable {
  return { ...own(read), ofHit: shared(read).ofHit }
}

/** The reader of a field of the last upstream. */
export function upstreamFieldVariable(name: string): RequestVariable {
  return ofAnswer((input) => fieldsOf(input, name).join(', '))
}

/** The reader of a cookie that the last upstream sets. */
export function upstreamCookieVariable(name: string): RequestVariable {
  return ofAnswer((input) => {
    for (const line of fieldsOf(input, 'set-cookie')) {
      const [pair = ''] = line.split(';', 1)
      const equals = pair.indexOf('=')
      if (equals !== -1 && pair.slice(0, equals).trim().toLowerCase() === name) return pair.slice(equals + 1).trim()
    }
    return ''
  })
}

function fieldsOf({ upstreamHeaders }: VariableInput, name: string): string[] {
  return upstreamHeaders.filter(([known]) => known === name).map(([, value]) => value)
}
