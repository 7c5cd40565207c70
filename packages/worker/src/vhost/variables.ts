import { realpathSync } from 'node:fs'
import { hostname } from 'node:os'
import { withoutSessionCookie } from '@svc/auth'
import { escapeArgs, type HeaderList, parseHost } from '@svc/http'
import type { CaptureSink, Captures, ServerSpec, VariableReader } from '@svc/vhosts'
import type { RequestContext } from '../request/request-context.ts'
import { addressOf, portOf } from './listen-port.ts'

/** `$fastcgi_script_name` and `$fastcgi_path_info`. */
export interface ScriptPath {
  readonly name: string
  readonly info: string
}

/** The input of variables: one request at its server, in its present state. */
export interface VariableInput extends CaptureSink {
  readonly context: RequestContext
  readonly server: ServerSpec
  /** `$uri`, one character for each byte. */
  readonly uri: string
  readonly args: string
  readonly method: string
  captures: Captures
  /** Fields of the response, once they are known. */
  sentHeaders: HeaderList
  /** True if the charset of a file is none that nginx would send. */
  isCharsetAdded: boolean
  /** Address of the peer, where a proxy of the vhost file has named the client. */
  readonly proxyAddress: string | undefined
  /** `$upstream_cache_status`. */
  readonly cacheWord: string
  /** True if numbered captures are escaped as arguments when they are read. */
  readonly quotesCaptures: boolean
  /** `$document_root`. */
  documentRoot(): string
  /** `$request_filename`. */
  fileName(): string
  /** The input of `fastcgi_script_name` and `fastcgi_path_info`, where the location has an application for it. */
  scriptPath(): ScriptPath
  /** A variable that was set for this request: named captures, results of maps, values from content. */
  variable(name: string): string | undefined
  setVariable(name: string, value: string): void
}

type Read = (input: VariableInput) => string

/** The same for all requests with one listen address, scheme, host, path and query: the parts of the key of L0. */
const shared = (read: Read): VariableReader<VariableInput> => ({ read, isShared: true })
const own = (read: Read): VariableReader<VariableInput> => ({ read, isShared: false })

const field =
  (name: string): Read =>
  ({ context }) =>
    context.request.header(name) ?? ''
const set =
  (name: string, otherwise: Read = () => ''): Read =>
  (input) =>
    input.variable(name) ?? otherwise(input)
const args = shared((input) => input.args)
const uri = shared((input) => input.uri)

/** By name. Values from content or named captures are read first if there is a `set`. */
const readers: Readonly<Record<string, VariableReader<VariableInput>>> = {
  args,
  query_string: args,
  is_args: shared((input) => (input.args === '' ? '' : '?')),
  uri,
  document_uri: uri,
  request_uri: shared(({ context }) => context.exchange.request.target),
  host: shared(hostOf),
  scheme: shared(({ context }) => context.client.scheme),
  https: shared(({ context }) => (context.client.scheme === 'https' ? 'on' : '')),
  server_name: shared(({ server }) => server.name),
  server_port: shared(({ context }) => String(portOf(context) ?? '')),
  server_addr: shared(({ context }) => addressOf(context)),
  document_root: shared((input) => input.documentRoot()),
  realpath_root: own((input) => realPath(input.documentRoot())),
  request_filename: shared((input) => input.fileName()),
  fastcgi_script_name: shared(set('fastcgi_script_name', (input) => input.scriptPath().name)),
  fastcgi_path_info: shared(set('fastcgi_path_info', (input) => input.scriptPath().info)),
  proxy_host: shared(set('proxy_host')),
  proxy_port: shared(set('proxy_port', proxyPort)),
  upstream_cache_status: own((input) => input.cacheWord),
  remote_user: own(userName),
  remote_addr: own(({ context }) => context.client.address || 'unix:'),
  // The engines do not know it.
  remote_port: own(() => ''),
  realip_remote_addr: own(({ context, proxyAddress }) => (proxyAddress ?? context.client.address) || 'unix:'),
  // The engines do not know it.
  realip_remote_port: own(() => ''),
  request_id: own(({ context }) => context.requestId),
  request_method: own((input) => input.method),
  server_protocol: own(({ context }) => `HTTP/${context.exchange.request.httpVersion.replace(/^2$/, '2.0')}`),
  content_type: own(field('content-type')),
  content_length: own(field('content-length')),
  proxy_add_x_forwarded_for: own(forwardedFor),
  hostname: shared(() => hostname()),
  nginx_version: shared(() => '1.22.1'),
}

/** The reader of a variable that is not a map. */
export function variableReader(name: string): VariableReader<VariableInput> {
  const known = Object.hasOwn(readers, name) ? readers[name] : undefined
  if (known !== undefined) return known
  if (/^[1-9]$/.test(name)) return captureReader(Number(name))
  if (name.startsWith('http_')) return httpReader(name.slice(5).replaceAll('_', '-'))
  if (name.startsWith('arg_')) return argumentReader(name.slice(4).toLowerCase())
  if (name.startsWith('cookie_')) return cookieReader(name.slice(7).toLowerCase())
  if (name.startsWith('sent_http_')) return sentReader(name.slice(10).replaceAll('_', '-'))
  return shared(set(name))
}

function captureReader(index: number): VariableReader<VariableInput> {
  return shared((input) => {
    const text = input.captures[index] ?? ''
    return input.quotesCaptures ? escapeArgs(text) : text
  })
}

/** Files have a charset here that nginx does not add by itself. */
const OWN_CHARSET = '; charset=utf-8'

function sentReader(name: string): VariableReader<VariableInput> {
  // Of the response that L0 stores.
  return shared(({ sentHeaders, isCharsetAdded }) => {
    const values = sentHeaders.filter(([known]) => known.toLowerCase() === name).map(([, value]) => value)
    const [value = ''] = values
    if (name === 'content-type' && isCharsetAdded && value.endsWith(OWN_CHARSET)) return value.slice(0, -OWN_CHARSET.length)
    return values.join(', ')
  })
}

/** Fields that may come in several lines. */
const joined: Readonly<Record<string, string>> = { cookie: '; ', 'x-forwarded-for': ', ' }

function httpReader(name: string): VariableReader<VariableInput> {
  const separator = joined[name]
  return separator === undefined ? own(field(name)) : own(({ context }) => allOf(context, name, separator))
}

function allOf({ request }: RequestContext, name: string, separator: string): string {
  const values = request.headers.filter(([known]) => known === name).map(([, value]) => value)
  // No upstream ever sees a cookie of the service itself.
  const shown = name === 'cookie' ? values.flatMap((value) => withoutSessionCookie(value) ?? []) : values
  return shown.join(separator)
}

function argumentReader(name: string): VariableReader<VariableInput> {
  return shared((input) => {
    for (const pair of input.args.split('&')) {
      if (pair.length > name.length && pair[name.length] === '=' && pair.slice(0, name.length).toLowerCase() === name)
        return pair.slice(name.length + 1)
    }
    return ''
  })
}

function cookieReader(name: string): VariableReader<VariableInput> {
  return own(({ context }) => {
    for (const pair of allOf(context, 'cookie', '; ').split(/[;,] */)) {
      const equals = pair.indexOf('=')
      if (equals !== -1 && pair.slice(0, equals).trimEnd().toLowerCase() === name) return pair.slice(equals + 1).trimStart()
    }
    return ''
  })
}

function hostOf({ context, server }: VariableInput): string {
  const parsed = parseHost(context.client.host)
  return parsed === 'bad_host' ? server.name : parsed.hostname
}

/** Port of an upstream; 80 if none is given. */
function proxyPort(input: VariableInput): string {
  const host = input.variable('proxy_host')
  return host === undefined ? '' : (/:(\d+)$/.exec(host)?.[1] ?? '80')
}

function forwardedFor({ context, proxyAddress }: VariableInput): string {
  const sent = allOf(context, 'x-forwarded-for', ', ')
  const peer = proxyAddress === undefined ? context.exchange.request.remoteAddress : context.client.address
  const address = peer || 'unix:'
  return sent === '' ? address : `${sent}, ${address}`
}

function userName({ context }: VariableInput): string {
  const [scheme = '', credentials = ''] = (context.request.header('authorization') ?? '').split(' ', 2)
  if (scheme.toLowerCase() !== 'basic') return ''
  const text = Buffer.from(credentials, 'base64').toString('latin1')
  return text.includes(':') ? text.slice(0, text.indexOf(':')) : ''
}

function realPath(dir: string): string {
  try {
    return realpathSync.native(Buffer.from(dir, 'latin1'), 'latin1')
  } catch {
    // Not there: nothing will be found below it either.
    return dir
  }
}
