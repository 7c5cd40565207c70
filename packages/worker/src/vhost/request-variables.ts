import { isIPv4 } from 'node:net'
import { withoutSessionCookie } from '@svc/auth'
import { type ProxiedPeer, statusLine } from '@svc/http'
import { ofRequest, own, type RequestInput, type RequestVariable, shared, type VariableInput } from './variable-input.ts'

const CRLF_BYTES = 2
/** `Date` with its value, which the engines write. */
const DATE_BYTES = 'Date: Thu, 01 Jan 1970 00:00:00 GMT\r\n'.length

/** Variables of the request and its connection, and of the time. */
export const requestVariables: Readonly<Record<string, RequestVariable>> = {
  binary_remote_addr: ofRequest(({ context }) => binaryAddress(context.client.address)),
  body_bytes_sent: ofRequest(({ end }) => String(end?.bytes ?? 0)),
  bytes_sent: ofRequest(bytesSent),
  connection: own(({ context }) => String(context.exchange.request.connection?.number ?? '')),
  connection_requests: own(({ context }) => String(context.exchange.request.connectionPlace ?? '')),
  connection_time: own(({ context }) => {
    const openedAt = context.exchange.request.connection?.openedAt
    return openedAt === undefined ? '' : seconds(performance.now() - openedAt)
  }),
  content_length: ofRequest(field('content-length')),
  content_type: ofRequest(field('content-type')),
  date_gmt: ofRequest(() => longDate(new Date(), 'UTC')),
  date_local: ofRequest(() => longDate(new Date(), undefined)),
  msec: ofRequest(() => seconds(Date.now())),
  pid: shared(() => String(process.pid)),
  proxy_add_x_forwarded_for: own(forwardedFor),
  remote_addr: ofRequest(({ context }) => context.client.address || 'unix:'),
  proxy_protocol_addr: own((input) => proxied(input)?.address ?? ''),
  proxy_protocol_port: own((input) => String(proxied(input)?.port ?? '')),
  proxy_protocol_server_addr: own((input) => proxied(input)?.serverAddress ?? ''),
  proxy_protocol_server_port: own((input) => String(proxied(input)?.serverPort ?? '')),
  remote_user: ofRequest(userName),
  request: ofRequest(
    ({ context: { exchange } }) => `${exchange.request.method} ${exchange.request.target} ${protocolOf(exchange)}`,
  ),
  // HTTP/3 is not spoken.
  http3: shared(() => ''),
  http2: own(({ context }) => (context.exchange.request.httpVersion === '2' ? 'h2' : '')),
  request_body: own(({ context }) => context.body.recorded),
  request_completion: ofRequest(({ end }) => (end?.isComplete === true ? 'OK' : '')),
  request_id: ofRequest(({ context }) => context.requestId),
  request_length: ofRequest(requestLength),
  request_time: ofRequest(({ context, end }) => seconds(end?.durationMs ?? performance.now() - context.startedAt)),
  server_protocol: ofRequest(({ context }) => protocolOf(context.exchange)),
  status: {
    ...own(({ end, sentStatus, status }) => statusText(end?.status ?? sentStatus ?? status)),
    ofHit:
      () =>
      ({ end }) =>
        statusText(end?.status),
  },
  time_iso8601: ofRequest(() => isoTime(new Date())),
  time_local: ofRequest(() => localTime(new Date())),
}

/** The reader of a field of the request. */
export function fieldVariable(name: string): RequestVariable {
  const separator = joined[name]
  return ofRequest(separator === undefined ? field(name) : (input) => allOf(input, name, separator))
}

/** The reader of a cookie of the request. */
export function cookieVariable(name: string): RequestVariable {
  return ofRequest((input) => {
    for (const pair of allOf(input, 'cookie', '; ').split(/[;,] */)) {
      const equals = pair.indexOf('=')
      if (equals !== -1 && pair.slice(0, equals).trimEnd().toLowerCase() === name) return pair.slice(equals + 1).trimStart()
    }
    return ''
  })
}

function field(name: string): (input: RequestInput) => string {
  // nginx looks for the agent by its own name alone.
  if (!name.includes('-') || name === 'user-agent') return ({ context }) => context.request.header(name) ?? ''
  return ({ context: { vhost, request } }) => {
    // Where the server takes such fields, underscores are as good as the hyphens.
    const isLoose = vhost !== undefined && vhost.server.fieldNames !== 'plain'
    const value = isLoose ? request.headers.find(([known]) => known.replaceAll('_', '-') === name)?.[1] : request.header(name)
    return value ?? ''
  }
}

/** Fields that may come in several lines. */
const joined: Readonly<Record<string, string>> = { cookie: '; ', 'x-forwarded-for': ', ' }

function allOf({ context }: RequestInput, name: string, separator: string): string {
  const values = context.request.headers.filter(([known]) => known === name).map(([, value]) => value)
  // No upstream and no log ever sees a cookie of the service itself.
  const shown = name === 'cookie' ? values.flatMap((value) => withoutSessionCookie(value) ?? []) : values
  return shown.join(separator)
}

function forwardedFor(input: VariableInput): string {
  const { context, proxyAddress } = input
  const sent = allOf(input, 'x-forwarded-for', ', ')
  const peer = proxyAddress === undefined ? context.exchange.request.remoteAddress : context.client.address
  const address = peer || 'unix:'
  return sent === '' ? address : `${sent}, ${address}`
}

function proxied({ context }: RequestInput): ProxiedPeer | undefined {
  const peer = context.exchange.request.connection?.proxied
  return peer === 'unnamed' ? undefined : peer
}

function userName({ context }: RequestInput): string {
  const [scheme = '', credentials = ''] = (context.request.header('authorization') ?? '').split(' ', 2)
  if (scheme.toLowerCase() !== 'basic') return ''
  const text = Buffer.from(credentials, 'base64').toString('latin1')
  return text.includes(':') ? text.slice(0, text.indexOf(':')) : ''
}

function protocolOf({ request }: RequestInput['context']['exchange']): string {
  return request.httpVersion === '2' ? 'HTTP/2.0' : `HTTP/${request.httpVersion}`
}

/** Length of the request as most clients write it: one space behind the colon of a field. */
function requestLength({ context: { exchange } }: RequestInput): string {
  const { request, body } = exchange
  let bytes = `${request.method} ${request.target} ${protocolOf(exchange)}`.length + 2 * CRLF_BYTES
  for (const [name, value] of request.headers) bytes += name.length + ': '.length + value.length + CRLF_BYTES
  return String(bytes + (body.length ?? 0))
}

/** Length of the response: the body as it was sent, and a head of HTTP/1.1 with its fields. */
function bytesSent({ end }: RequestInput): string {
  if (end === undefined) return '0'
  let bytes = `HTTP/1.1 ${statusLine(end.status)}`.length + 2 * CRLF_BYTES + DATE_BYTES
  for (const [name, value] of end.headers) bytes += name.length + ': '.length + value.length + CRLF_BYTES
  return String(bytes + end.bytes)
}

function statusText(status: number | undefined): string {
  return String(status ?? 0).padStart(3, '0')
}

function seconds(ms: number): string {
  return (Math.max(0, Math.floor(ms)) / 1000).toFixed(3)
}

/** The bytes of an address, 4 or 16. */
function binaryAddress(address: string): string {
  if (address === '') return 'unix:'
  if (isIPv4(address)) return String.fromCharCode(...address.split('.').map(Number))
  const [head = '', tail] = address.split('::', 2)
  const groups = (text: string | undefined) =>
    text === undefined || text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16))
  const [before, after] = [groups(head), groups(tail)]
  const all = [...before, ...Array<number>(Math.max(0, 8 - before.length - after.length)).fill(0), ...after]
  return all.map((group) => String.fromCharCode(group >> 8, group & 0xff)).join('')
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'] as const

const two = (value: number) => String(value).padStart(2, '0')

/** As in `+0200`, with a separator between hours and minutes. */
function zoneOf(time: Date, separator: string): string {
  const offset = -time.getTimezoneOffset()
  const minutes = Math.abs(offset)
  return `${offset < 0 ? '-' : '+'}${two(Math.floor(minutes / 60))}${separator}${two(minutes % 60)}`
}

const clockOf = (time: Date) => `${two(time.getHours())}:${two(time.getMinutes())}:${two(time.getSeconds())}`

function localTime(time: Date): string {
  return `${two(time.getDate())}/${MONTHS[time.getMonth()]}/${time.getFullYear()}:${clockOf(time)} ${zoneOf(time, '')}`
}

function isoTime(time: Date): string {
  return `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())}T${clockOf(time)}${zoneOf(time, ':')}`
}

/** As in `Friday, 27-Nov-2026 14:00:00 UTC`. */
function longDate(time: Date, timeZone: string | undefined): string {
  const zoned = new Intl.DateTimeFormat('en-US', {
    ...{
      weekday: 'long',
      day: '2-digit',
      month: 'short',
      year: 'numeric',
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
    },
    ...{ hourCycle: 'h23', timeZoneName: 'short', timeZone },
  })
  const parts = new Map(zoned.formatToParts(time).map(({ type, value }) => [type, value]))
  const part = (type: Intl.DateTimeFormatPartTypes) => parts.get(type) ?? ''
  const clock = `${part('hour')}:${part('minute')}:${part('second')}`
  const zone = timeZone === undefined ? part('timeZoneName') : 'GMT'
  return `${part('weekday')}, ${part('day')}-${part('month')}-${part('year')} ${clock} ${zone}`
}
