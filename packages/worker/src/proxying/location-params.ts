import type { HeaderList } from '@svc/http'
import type { Param } from '@svc/upstream'
import { fieldParam } from '@svc/upstream'
import type { GatewaySpec, Template } from '@svc/vhosts'
import type { RequestContext } from '../request/request-context.ts'
import type { LocationExchange } from '../vhost/location-handler.ts'
import { clientFields, tracedFields } from './client-fields.ts'

/** Fields of the client's connection: not forwarded to HTTP upstreams, but applications get them. */
const TOLD_FIELDS: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'keep-alive',
  'te',
  'transfer-encoding',
  'upgrade',
])

const none: HeaderList = []

/** A parameter as configured. */
interface ConfiguredParam {
  readonly name: string
  readonly value: Template
  /** Its value where it is the same for all requests. */
  readonly text: string | undefined
  readonly isIfNotEmpty: boolean
}

interface MadeParams {
  readonly from: HeaderList
  readonly texts: readonly string[]
  readonly params: readonly Param[]
  /** The fields that configured parameters stand for. */
  readonly stated: HeaderList
}

interface MadeFields {
  readonly from: HeaderList
  readonly isPeerTrusted: boolean
  readonly host: string
  readonly stated: HeaderList
  readonly fields: HeaderList
}

/**
 * Parameters of the requests of a location to their application. Equal inputs give the same list as for the request before: it
 * is not written out again.
 */
export class LocationParams {
  /** Names of the parameters that are configured. */
  readonly names: ReadonlySet<string>
  readonly #configured: readonly ConfiguredParam[]
  /** Fields of clients that they stand for. */
  readonly #replaced: ReadonlySet<string>
  readonly #passesFields: boolean
  #params: MadeParams | undefined
  #fields: MadeFields | undefined

  constructor({ params, passesFields }: Pick<GatewaySpec, 'params' | 'passesFields'>) {
    this.#passesFields = passesFields
    const all = params.map((param) => ({ ...param, text: constantOf(param.value) }))
    // As with nginx, nothing in place of a field takes it away.
    this.#configured = all.filter(({ name, text }) => text !== '' || fieldOf(name) === '')
    this.names = new Set(params.map(({ name }) => name))
    this.#replaced = new Set([...this.names].map(fieldOf).filter((field) => field !== ''))
  }

  /** Parameters and fields of a request; fields become parameters where none of that name is configured. */
  of(exchange: LocationExchange): { readonly params: readonly Param[]; readonly fields: HeaderList } {
    const { params, stated } = this.#paramsOf(exchange)
    const { context } = exchange
    return { params, fields: tracedFields(context, this.#fieldsOf(context, stated), this.#replaced) }
  }

  /** The parameters as configured, and those for fields of the client's connection. */
  #paramsOf(exchange: LocationExchange): MadeParams {
    const texts = this.#configured.map(({ value, text }) => text ?? exchange.requestText(value))
    const from = exchange.context.request.headers
    const last = this.#params
    if (last?.from === from && last.texts.every((text, place) => text === texts[place])) return last
    const params: Param[] = []
    for (const [place, { name, isIfNotEmpty }] of this.#configured.entries()) {
      const text = texts[place] ?? ''
      if (text !== '' || !isIfNotEmpty) params.push([name, text])
    }
    const stated = this.#replaced.size === 0 ? none : statedFields(params)
    for (const [name, value] of from) {
      if (this.#passesFields && TOLD_FIELDS.has(name) && !this.names.has(fieldParam(name))) params.push([fieldParam(name), value])
    }
    this.#params = { from, texts, params, stated }
    return this.#params
  }

  /** With the configured ones too: the credentials and cookies that an application gets decide which clients may share its response. */
  #fieldsOf(context: RequestContext, stated: HeaderList): HeaderList {
    const { request, client } = context
    const { headers: from } = request
    const { isPeerTrusted } = client
    const host = this.#replaced.has('host') ? '' : (request.header('host') ?? request.host)
    const last = this.#fields
    const isSame = last?.from === from && last.isPeerTrusted === isPeerTrusted && last.host === host && last.stated === stated
    if (isSame) return last.fields
    const fields = this.#passesFields ? [...stated, ...clientFields(context, this.#replaced)] : [...stated]
    if (host !== '' && this.#passesFields) fields.unshift(['host', host])
    this.#fields = { from, isPeerTrusted, host, stated, fields: Object.freeze(fields) }
    return fields
  }
}

function statedFields(params: readonly Param[]): HeaderList {
  return params.flatMap(([name, value]) => (fieldOf(name) === '' || value === '' ? [] : [[fieldOf(name), value] as const]))
}

/** Undefined: it depends on the request. */
function constantOf(template: Template): string | undefined {
  let text = ''
  for (const piece of template) {
    if (typeof piece !== 'string') return undefined
    text += piece
  }
  return text
}

/** `accept-language` of `HTTP_ACCEPT_LANGUAGE`; "" for a name that is not a field. */
function fieldOf(param: string): string {
  return param.startsWith('HTTP_') ? param.slice(5).toLowerCase().replaceAll('_', '-') : ''
}
