import type { ProxySpec, Template } from '@svc/config'
import { escapeUri, isFieldValue } from '@svc/http'
import type { LocationVisit } from '../../vhost/content.ts'
import { clientFields } from './client-fields.ts'

/** A field that a location sets for its upstream. */
interface SetField {
  readonly name: string
  readonly value: Template
}

/** What a location says about the fields of requests to its upstream, made ready. */
export interface RequestFields {
  readonly set: readonly SetField[]
  /** Names that are not passed on from the client. */
  readonly replaced: ReadonlySet<string>
  /** Whether the location sets Host. */
  readonly setsHost: boolean
}

/** Fields whose meaning is the connection's: their values are heeded, but not sent as they are. */
const OF_CONNECTION: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'transfer-encoding',
  'upgrade',
  'te',
  'keep-alive',
  'expect',
])

export function prepareFields(setHeaders: ProxySpec['setHeaders']): RequestFields {
  const all = setHeaders.map(({ name, value }) => ({ name: name.toLowerCase(), value }))
  return {
    set: all.filter(({ name }) => !OF_CONNECTION.has(name)),
    replaced: new Set(all.map(({ name }) => name)),
    setsHost: all.some(({ name }) => name === 'host'),
  }
}

/**
 * The fields of the request to the upstream. Undefined: one that the location sets holds a line break or another control
 * character, which a request has put there.
 */
export function proxiedFields(visit: LocationVisit, { set, replaced, setsHost }: RequestFields, proxyHost: string) {
  const fields: (readonly [string, string])[] = setsHost ? [] : [['host', proxyHost]]
  for (const { name, value } of set) {
    const text = visit.requestText(value)
    if (!isFieldValue(text)) return undefined
    if (text !== '') fields.push([name, text])
  }
  for (const field of clientFields(visit.context, replaced)) fields.push(field)
  return fields
}

/**
 * The target of the request to the upstream, as nginx makes it: without a URI part as the client sent it, unless it was rewritten
 * since; with one, that part stands for the location's prefix, unless a rewrite ended here; where it is written with variables, it
 * is the target.
 */
export function proxiedTarget(visit: LocationVisit, spec: Pick<ProxySpec, 'target' | 'uri'>): string {
  const { context, uri, args, matchedPrefix, isPrefixValid, isRewritten } = visit
  const { request } = context
  const isComputed = spec.target.kind === 'computed' || spec.uri?.some((piece) => typeof piece !== 'string') === true
  // What is asked for is more than what is sent along: it decides about the answer.
  const part = spec.uri === undefined ? '' : visit.text(spec.uri)
  if (isComputed && part !== '') return writable(part.startsWith('/') ? part : `/${part}`)
  if (part === '' && !isRewritten) return request.target
  const isReplaced = part !== '' && isPrefixValid
  const rest = isReplaced ? uri.slice(matchedPrefix.length) : uri
  const path = (isReplaced ? part : '') + (isRewritten || request.rawPath.includes('%') ? escapeUri(rest) : rest)
  return writable(args === '' ? path : `${path}?${args}`)
}

/** Escapes what cannot stand in a request line, and nothing else. */
function writable(target: string): string {
  let isGood = true
  for (let i = 0; i < target.length; i++) {
    const code = target.charCodeAt(i)
    if (code <= 0x20 || code >= 0x7f) isGood = false
  }
  if (isGood) return target
  return Array.from(target, (character) => {
    const code = character.charCodeAt(0)
    return code <= 0x20 || code >= 0x7f ? `%${code.toString(16).toUpperCase().padStart(2, '0')}` : character
  }).join('')
}
