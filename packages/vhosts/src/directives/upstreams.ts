import type { GatewayKind, Template, UpstreamServerSpec } from '../spec/spec.ts'
import { shown } from '../syntax/vhost-problems.ts'
import { PLAIN_SERVER, readUpstreamAddress } from '../values/addresses.ts'
import { parseCount, parseSize } from '../values/numbers.ts'
import { leadingText } from '../values/template.ts'
import type { DirectiveCall } from './directive-call.ts'
import { noticeOpen } from './open-target.ts'
import { MANY, rule } from './rule.ts'

const HTTP_PORT = 80
const HTTPS_PORT = 443

type ServerFlags = { -readonly [Key in keyof UpstreamServerSpec]: UpstreamServerSpec[Key] }

function applyParameter(call: DirectiveCall, index: number, server: ServerFlags): void {
  const text = call.arg(index)
  const [, name = '', value] = /^([^=]*)(?:=(.*))?$/s.exec(text) ?? []
  const count = value !== undefined && /^\d{1,9}$/.test(value) ? Number(value) : undefined
  if (text === 'backup') server.isBackup = true
  else if (text === 'down') server.isDown = true
  else if (name === 'weight' && count !== undefined && count > 0) server.weight = count
  else if (name === 'max_fails' && count !== undefined) server.maxFails = count
  else if (name === 'max_conns' && count !== undefined) server.maxConns = count
  else if (text === 'resolve') server.isResolved = true
  else if (name === 'fail_timeout' && value !== undefined) server.failTimeoutMs = call.time(index, value) ?? 0
  else call.invalidParameter(index, 'expected weight=, max_conns=, max_fails=, fail_timeout=, resolve, backup or down')
}

/** `server` of a group. */
export const upstreamServer = rule<UpstreamServerSpec>('server', {
  in: ['upstream'],
  args: [1, MANY],
  isMany: true,
  parse: (call) => {
    const read = readUpstreamAddress(call.text(0), HTTP_PORT)
    if ('error' in read) return call.fail(`${read.error} in upstream "${shown(call.arg(0))}"`, 0)
    const { address } = read
    const server: ServerFlags = { address, ...PLAIN_SERVER }
    for (let index = 1; index < call.args.length; index++) applyParameter(call, index, server)
    if (call.text(0) !== address) server.written = call.text(0)
    // 0: any number.
    if (server.maxConns === 0) delete server.maxConns
    if (!server.isDown) call.tools.needs.addSocket(address, call.place)
    return server
  },
})

/** `keepalive` of a group. */
export const keepalive = rule('keepalive', {
  in: ['upstream'],
  args: 1,
  parse: (call) => {
    const count = parseCount(call.arg(0)) ?? call.fail('invalid number', 0)
    return count === 0 ? call.invalidValue(0) : count
  },
})

/** How a group chooses servers, if not in turn. */
type BalanceMethod =
  | 'least_conn'
  | 'ip_hash'
  | 'random'
  | 'random_two'
  | { readonly key: Template; readonly isConsistent: boolean }

const balance = { in: ['upstream'], args: 0, slot: 'balance' } as const

/** `least_conn`. */
export const leastConn = rule<BalanceMethod>('least_conn', { ...balance, parse: () => 'least_conn' })

/** `ip_hash`. */
export const ipHash = rule<BalanceMethod>('ip_hash', { ...balance, parse: () => 'ip_hash' })

/** `hash`. */
export const hash = rule<BalanceMethod>('hash', {
  ...balance,
  args: [1, 2],
  parse: (call) => {
    if (call.args.length > 1 && call.arg(1) !== 'consistent') return call.invalidParameter(1, 'expected consistent')
    const key = call.template(0)
    return key && { key, isConsistent: call.args.length > 1 }
  },
})

/** `random`. */
export const random = rule<BalanceMethod>('random', {
  ...balance,
  args: [0, 2],
  parse: (call) => {
    if (call.args.length > 0 && call.arg(0) !== 'two') return call.invalidParameter(0, 'expected two')
    if (call.args.length > 1 && call.arg(1) !== 'least_conn') return call.invalidParameter(1, 'expected least_conn')
    return call.args.length > 0 ? 'random_two' : 'random'
  },
})

/** `zone`: its memory is not needed; limits count for all workers together. */
export const zone = rule('zone', {
  in: ['upstream'],
  args: [1, 2],
  parse: (call) => (call.args.length > 1 && parseSize(call.arg(1)) === undefined ? call.invalidValue(1) : true),
})

/** `keepalive_requests` of a group. */
export const groupKeepaliveRequests = rule('keepalive_requests', {
  in: ['upstream'],
  args: 1,
  parse: (call) => parseCount(call.arg(0)) ?? call.invalidValue(0),
})

/** `keepalive_time` of a group. */
export const groupKeepaliveTime = rule('keepalive_time', { in: ['upstream'], args: 1, parse: (call) => call.time(0) })

/** `keepalive_timeout` of a group. */
export const groupKeepaliveTimeout = rule('keepalive_timeout', { in: ['upstream'], args: 1, parse: (call) => call.time(0) })

/** The destination of `proxy_pass`, `fastcgi_pass` and their like. */
export interface PassTarget {
  readonly call: DirectiveCall
  /** `computed`: variables make the scheme, which is part of `host` then. */
  readonly scheme: 'http' | 'https' | 'computed' | GatewayKind | 'suwsgi'
  /** Host as written, with variables or without. */
  readonly host: Template
  /** URI part of `proxy_pass`. */
  readonly uri: Template | undefined
  /** Port that an address without one has; 0: it needs one. */
  readonly defaultPort: number
}

/** Splits what follows the scheme into host and URI part. A host that is a path (`unix:/x:/uri`) ends at its second colon. */
function splitAtUri(template: Template): { host: Template; uri: Template | undefined } {
  const [first] = template
  if (typeof first === 'string' && first.startsWith('unix:')) {
    const end = first.indexOf(':', 'unix:'.length)
    if (end < 0) return { host: template, uri: undefined }
    const tail = first.slice(end + 1)
    const uri = [...(tail === '' ? [] : [tail]), ...template.slice(1)]
    return { host: [first.slice(0, end)], uri: uri.length === 0 ? undefined : uri }
  }
  for (const [index, piece] of template.entries()) {
    // These begin with a slash.
    const isPath = typeof piece !== 'string' && /^(?:request_uri|uri|document_uri)$/.test(piece.variable) && index > 0
    const slash = typeof piece === 'string' ? piece.search(/[/?]/) : isPath ? 0 : -1
    if (slash < 0) continue
    const before = typeof piece === 'string' && slash > 0 ? [piece.slice(0, slash)] : []
    const after = typeof piece === 'string' ? [piece.slice(slash)] : [piece]
    return { host: [...template.slice(0, index), ...before], uri: [...after, ...template.slice(index + 1)] }
  }
  return { host: template, uri: undefined }
}

const pass = { in: ['location'], args: 1, slot: 'content' } as const

/** `proxy_pass`. */
export const proxyPass = rule<PassTarget>('proxy_pass', {
  ...pass,
  parse: (call) => {
    const template = call.template(0)
    if (template === undefined) return undefined
    const scheme = /^(https?):\/\//i.exec(leadingText(template))?.[1]?.toLowerCase()
    if (scheme === undefined && leadingText(template) === '' && template.length > 0) {
      noticeOpen(call, template)
      return { call, scheme: 'computed', host: template, uri: undefined, defaultPort: 0 }
    }
    if (scheme === undefined) return call.fail('invalid URL prefix', 0, 'expected http:// or https://')
    const [, ...rest] = template
    const head = leadingText(template).slice(`${scheme}://`.length)
    const { host, uri } = splitAtUri(head === '' ? rest : [head, ...rest])
    if (host.length === 0) return call.fail(`no host in upstream "${shown(call.arg(0))}"`, 0)
    noticeOpen(call, host)
    const isPlain = scheme === 'http'
    return { call, scheme: isPlain ? 'http' : 'https', host, uri, defaultPort: isPlain ? HTTP_PORT : HTTPS_PORT }
  },
})
