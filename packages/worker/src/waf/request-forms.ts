import type { HeaderList } from '@svc/http'
import type { InspectedBody } from './body-text.ts'
import { decodeForm, decodePercent, formLines, oneLine, packForm, resolvedPath } from './texts.ts'

/** A request as the firewall looks at it. */
interface InspectedRequest {
  readonly method: string
  /** As sent. */
  readonly rawPath: string
  /** Normalised. */
  readonly path: string
  /** As sent, without "?". */
  readonly query: string
  readonly headers: HeaderList
  /** Of the client; "" without one. */
  readonly address: string
  /** Id of the site that the host leads to; "": none. */
  readonly site: string
}

/** Header fields in which no attack can be: they are of a fixed form, or part of the connection. */
const PLAIN_FIELDS: ReadonlySet<string> = new Set(
  'accept accept-encoding accept-language cache-control connection content-length content-type date dnt expect host if-match if-modified-since if-none-match if-range if-unmodified-since keep-alive origin pragma priority range te trailer transfer-encoding upgrade upgrade-insecure-requests user-agent via'.split(
    ' ',
  ),
)
/** Characters of the head that are looked at in each form. Longer heads need a configuration that allows them. */
const MAX_CHARS = 65_536

/** The texts of a request, in the forms in which conditions and packs look at them. Each is made when it is first asked for. */
export class RequestForms {
  readonly request: InspectedRequest
  body: InspectedBody | undefined
  readonly #forms = new Map<string, readonly string[]>()
  readonly #packTexts = new Map<string, string>()

  constructor(request: InspectedRequest) {
    this.request = request
  }

  /** True if the head is longer than what is looked at. */
  get isCut(): boolean {
    const { rawPath, query, headers } = this.request
    const chars = headers.reduce((sum, [name, value]) => sum + name.length + value.length, 0)
    return rawPath.length > MAX_CHARS || query.length > MAX_CHARS || chars > MAX_CHARS
  }

  get path(): readonly string[] {
    return this.#form('path', () => {
      const { rawPath, path } = this.request
      const decoded = decodePercent(path)
      return [path, rawPath, decoded, resolvedPath(decoded)]
    })
  }

  get query(): readonly string[] {
    const { query } = this.request
    return this.#form('query', () => [query, decodeForm(query)])
  }

  /** The values of a field, each as sent and decoded, and all of them in one list. */
  field(name: string): readonly string[] {
    return this.#form(`field ${name}`, () => {
      const values = this.request.headers.filter(([one]) => one.toLowerCase() === name).map(([, value]) => utf8(value))
      if (values.length === 0) return ['']
      const all = values.length > 1 ? [...values, values.join(', ')] : values
      return [...all, ...all.filter((value) => value.includes('%')).map(decodePercent)]
    })
  }

  /** The body, as sent and decoded; an absent one is empty. */
  get bodyForms(): readonly string[] {
    const { body } = this
    if (body === undefined) return ['']
    const isForm = body.type === 'application/x-www-form-urlencoded'
    return this.#form('body', () => [body.text, isForm ? decodeForm(body.text) : body.lines])
  }

  /** The path for packs, with what it had before dot segments were removed. */
  get packPath(): string {
    return this.#packText('path', () => oneLine(decodePercent(this.request.rawPath)))
  }

  /** Path and query as sent: escapes may be wrong on purpose. */
  get packTarget(): string {
    const { rawPath, query } = this.request
    return this.#packText('target', () => oneLine(query === '' ? rawPath : `${rawPath}\n${query}`))
  }

  get packQuery(): string {
    return this.#packText('query', () => formLines(this.request.query.slice(0, MAX_CHARS)))
  }

  get packBody(): string {
    return this.#packText('body', () => this.body?.lines ?? '')
  }

  /** The values of fields that an application might use, each on a line, cookies by their names and values. */
  get packFields(): string {
    return this.#packText('fields', () => {
      const lines = this.request.headers.flatMap(([name, value]) => {
        if (PLAIN_FIELDS.has(name)) return []
        const text = utf8(value)
        return name === 'cookie' ? text.split(';').map((one) => oneLine(decodeForm(one.trim()))) : [oneLine(decodePercent(text))]
      })
      return lines.join('\n').slice(0, MAX_CHARS)
    })
  }

  get packUserAgent(): string {
    return this.#packText('agent', () => oneLine(this.field('user-agent').join('\n').slice(0, MAX_CHARS)))
  }

  #form(name: string, make: () => readonly string[]): readonly string[] {
    const known = this.#forms.get(name)
    if (known !== undefined) return known
    const made = [...new Set(make().map((text) => (name === 'body' ? text : text.slice(0, MAX_CHARS))))]
    this.#forms.set(name, made)
    return made
  }

  #packText(name: string, make: () => string): string {
    const known = this.#packTexts.get(name)
    if (known !== undefined) return known
    const made = packForm(make())
    this.#packTexts.set(name, made)
    return made
  }
}

/** Fields have one character for each byte. */
function utf8(value: string): string {
  return /[\u0080-\u00ff]/.test(value) ? Buffer.from(value, 'latin1').toString() : value
}
