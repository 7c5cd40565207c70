import { realpathSync } from 'node:fs'
import { hostname } from 'node:os'
import { escapeArgs, parseHost } from '@svc/http'
import { addressOf, portOf } from './listen-port.ts'
import { cookieVariable, fieldVariable, requestVariables } from './request-variables.ts'
import { tlsVariables } from './tls-variables.ts'
import { upstreamCookieVariable, upstreamFieldVariable, upstreamVariables } from './upstream-variables.ts'
import { own, type RequestVariable, shared, type VariableInput } from './variable-input.ts'

/** Port of the connection; "" for a unix socket. */
function peerPort({ context }: VariableInput): string {
  return String(context.exchange.request.connection?.peerPort ?? '')
}

type Read = (input: VariableInput) => string

const set =
  (name: string, otherwise: Read = () => ''): Read =>
  (input) =>
    input.variable(name) ?? otherwise(input)
const args = shared((input) => input.args)
const uri = shared((input) => input.uri)

/** By name. Values from content or named captures are read first if there is a `set`. */
const readers: Readonly<Record<string, RequestVariable>> = {
  ...requestVariables,
  ...tlsVariables,
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
  server_addr: own(({ context }) => addressOf(context) || (context.exchange.request.connection?.ownAddress ?? '')),
  document_root: shared((input) => input.documentRoot()),
  realpath_root: own((input) => realPath(input.documentRoot())),
  request_filename: shared((input) => input.fileName()),
  fastcgi_script_name: shared(set('fastcgi_script_name', (input) => input.scriptPath().name)),
  fastcgi_path_info: shared(set('fastcgi_path_info', (input) => input.scriptPath().info)),
  proxy_host: shared(set('proxy_host')),
  proxy_port: shared(set('proxy_port', proxyPort)),
  ...upstreamVariables,
  invalid_referer: own((input) => input.ofLocation.invalidReferer(input)),
  secure_link: own((input) => input.ofLocation.secureLink(input)),
  secure_link_expires: own((input) => input.ofLocation.secureLinkExpires(input)),
  limit_rate: own((input) => String(input.ofLocation.pace(input)?.bytesPerSecond ?? 0)),
  limit_req_status: own(({ main }) => main.limitWords?.requests ?? ''),
  limit_conn_status: own(({ main }) => main.limitWords?.connections ?? ''),
  realip_remote_addr: own(({ context, proxyAddress }) => (proxyAddress ?? context.client.address) || 'unix:'),
  realip_remote_port: own(peerPort),
  remote_port: own((input) => (input.proxyAddress === undefined ? peerPort(input) : String(input.clientPort || ''))),
  request_method: {
    ...own((input) => input.requestMethod),
    ofHit:
      () =>
      ({ context }) =>
        context.exchange.request.method,
  },
  hostname: shared(() => hostname()),
  nginx_version: shared(() => '1.22.1'),
}

/** The reader of a variable that is not a map. */
export function variableReader(name: string): RequestVariable {
  const known = Object.hasOwn(readers, name) ? readers[name] : undefined
  if (known !== undefined) return known
  if (/^[1-9]$/.test(name)) return captureReader(Number(name))
  if (name.startsWith('http_')) return fieldVariable(name.slice(5).replaceAll('_', '-'))
  if (name.startsWith('arg_')) return argumentReader(name.slice(4).toLowerCase())
  if (name.startsWith('cookie_')) return cookieVariable(name.slice(7).toLowerCase())
  if (name.startsWith('sent_http_')) return sentReader(name.slice(10).replaceAll('_', '-'))
  if (name.startsWith('upstream_http_')) return upstreamFieldVariable(name.slice(14).replaceAll('_', '-'))
  if (name.startsWith('upstream_cookie_')) return upstreamCookieVariable(name.slice(16).toLowerCase())
  // A capture of a pattern that did not match has no value.
  return { ...shared(set(name)), isMissing: (input) => input.variable(name) === undefined }
}

function captureReader(index: number): RequestVariable {
  return shared((input) => {
    const text = input.captures[index] ?? ''
    return input.quotesCaptures ? escapeArgs(text) : text
  })
}

/** Files have a charset here that nginx does not add by itself. */
const OWN_CHARSET = '; charset=utf-8'

function sentReader(name: string): RequestVariable {
  // Of the response that L0 stores.
  return shared(({ sentHeaders, isCharsetAdded }) => {
    const values = sentHeaders.filter(([known]) => known.toLowerCase() === name).map(([, value]) => value)
    const [value = ''] = values
    if (name === 'content-type' && isCharsetAdded && value.endsWith(OWN_CHARSET)) return value.slice(0, -OWN_CHARSET.length)
    return values.join(', ')
  })
}

function argumentReader(name: string): RequestVariable {
  return shared((input) => {
    for (const pair of input.args.split('&')) {
      if (pair.length > name.length && pair[name.length] === '=' && pair.slice(0, name.length).toLowerCase() === name)
        return pair.slice(name.length + 1)
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

function realPath(dir: string): string {
  try {
    return realpathSync.native(Buffer.from(dir, 'latin1'), 'latin1')
  } catch {
    // Not there: nothing will be found below it either.
    return dir
  }
}
