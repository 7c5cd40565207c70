import { escapeUri, type HeaderList, isFieldValue, type RequestBody } from '@svc/http'
import { isConnectionField } from '@svc/upstream'
import type { ProxySpec, Template } from '@svc/vhosts'
import type { LocationExchange } from '../vhost/location-handler.ts'
import { clientFields, tracedFields } from './client-fields.ts'

/** A field that a location sets for its upstream. */
interface SetField {
  readonly name: string
  readonly value: Template
}

/** The inputs of a list of fields. */
interface Made {
  readonly from: HeaderList
  readonly isPeerTrusted: boolean
  readonly proxyHost: string
  readonly texts: readonly string[]
  readonly fields: HeaderList
  isFrozen: boolean
}

const noTexts: readonly string[] = []

/**
 * The fields of the requests of a location to its upstream. Equal inputs give the same list as for the request before,
 * which is frozen then: it is not written out again either.
 */
export class ProxiedFields {
  readonly #set: readonly SetField[]
  /** Names that are not passed on from the client. */
  readonly #replaced: ReadonlySet<string>
  readonly #setsHost: boolean
  readonly #passesFields: boolean
  #last: Made | undefined

  constructor({ setHeaders, passesFields }: Pick<ProxySpec, 'setHeaders' | 'passesFields'>) {
    this.#passesFields = passesFields
    const all = setHeaders.map(({ name, value }) => ({ name: name.toLowerCase(), value }))
    // Connection fields are handled elsewhere and not forwarded.
    this.#set = all.filter(({ name }) => !isConnectionField(name) && name !== 'expect')
    this.#replaced = new Set(all.map(({ name }) => name))
    this.#setsHost = all.some(({ name }) => name === 'host')
  }

  /**
   * The fields of one request. Undefined: one that the location sets holds a line break or another control character, which a
   * request has put there.
   */
  of(exchange: LocationExchange, proxyHost: string): HeaderList | undefined {
    const fields = this.#untraced(exchange, proxyHost)
    return fields && tracedFields(exchange.context, fields, this.#replaced)
  }

  #untraced(exchange: LocationExchange, proxyHost: string): HeaderList | undefined {
    const texts = this.#texts(exchange)
    const { request, client } = exchange.context
    const { headers: from } = request
    const { isPeerTrusted } = client
    const last = this.#last
    if (last !== undefined && last.from === from && last.isPeerTrusted === isPeerTrusted && last.proxyHost === proxyHost) {
      if (areSame(last.texts, texts)) return shared(last)
    }
    if (!texts.every(isFieldValue)) return undefined
    const fields = this.#make(exchange, texts, proxyHost)
    this.#last = { from, isPeerTrusted, proxyHost, texts, fields, isFrozen: false }
    return fields
  }

  #texts(exchange: LocationExchange): readonly string[] {
    return this.#set.length === 0 ? noTexts : this.#set.map(({ value }) => exchange.requestText(value))
  }

  #make(exchange: LocationExchange, texts: readonly string[], proxyHost: string): HeaderList {
    const fields: (readonly [string, string])[] = this.#setsHost ? [] : [['host', proxyHost]]
    for (const [place, { name }] of this.#set.entries()) {
      const text = texts[place]
      // nginx sends a second Host as well, of which servers take the first or none.
      if (name === 'host' && fields.some(([known]) => known === 'host')) continue
      if (text !== undefined && text !== '') fields.push([name, text])
    }
    if (this.#passesFields) for (const field of clientFields(exchange.context, this.#replaced)) fields.push(field)
    return fields
  }
}

function shared(made: Made): HeaderList {
  if (!made.isFrozen) Object.freeze(made.fields)
  made.isFrozen = true
  return made.fields
}

function areSame(one: readonly string[], other: readonly string[]): boolean {
  for (let i = 0; i < one.length; i++) if (one[i] !== other[i]) return false
  return true
}

/**
 * The target of the request to the upstream, as nginx makes it: without a URI part as the client sent it, unless it was rewritten
 * since; with one, that part stands for the location's prefix, unless a rewrite ended here; where it is written with variables, it
 * is the target.
 * @param uriOfHost text that variables have put behind the host
 */
export function proxiedTarget(exchange: LocationExchange, spec: Pick<ProxySpec, 'target' | 'uri'>, uriOfHost = ''): string {
  const { context, uri, args, matchedPrefix, isPrefixValid, isRewritten } = exchange
  const { request } = context
  const isComputed = spec.target.kind === 'computed' || spec.uri?.some((piece) => typeof piece !== 'string') === true
  // `text`: the variables decide about the response, so one that depends on more than L0's key stays out of L0.
  const part = uriOfHost + (spec.uri === undefined ? '' : exchange.text(spec.uri))
  if (isComputed && part !== '') return writable(part.startsWith('/') ? part : `/${part}`)
  if (part === '' && !isRewritten) return request.target
  const isReplaced = part !== '' && isPrefixValid
  const rest = isReplaced ? uri.slice(matchedPrefix.length) : uri
  const path = (isReplaced ? part : '') + (isRewritten || request.rawPath.includes('%') ? escapeUri(rest) : rest)
  return writable(args === '' ? path : `${path}?${args}`)
}

/** Escapes only the characters that a request line cannot hold. */
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

/**
 * The body of the client. A handler that shows an error, or that another one has sent the request to, gets it too, as in nginx, unless
 * too much of it was read before.
 */
export function ownBody({ context: { body, request }, method }: LocationExchange): RequestBody | undefined {
  return body.isPresent && (method === request.method || body.isRepeatable) ? body : undefined
}
