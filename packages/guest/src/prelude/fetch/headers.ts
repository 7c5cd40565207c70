/** Rules for changes of a header list (Fetch standard, section 5.1). */
type HeadersGuard = 'none' | 'request' | 'response' | 'immutable'

export type HeadersInit = Headers | Iterable<Iterable<string>> | Readonly<Record<string, string>>

const namePattern = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
const badValuePattern = /[\0\r\n]|[^\0-\xff]/

function normalName(name: unknown): string {
  const text = String(name)
  if (!namePattern.test(text)) throw new TypeError(`Invalid header name: ${JSON.stringify(text)}`)
  return text.toLowerCase()
}

function normalValue(name: string, value: unknown): string {
  const text = String(value).replace(/^[\t\n\r ]+|[\t\n\r ]+$/g, '')
  if (badValuePattern.test(text)) throw new TypeError(`Invalid value of header "${name}"`)
  return text
}

/** Fetch standard `Headers`. Names are lower case; iteration is sorted; Set-Cookie fields are never joined. */
export class Headers {
  readonly #fields = new Map<string, string[]>()
  #guard: HeadersGuard = 'none'

  constructor(init?: HeadersInit | null) {
    if (init === undefined) return
    if (init === null || (typeof init !== 'object' && typeof init !== 'function')) throw new TypeError('Headers: invalid init')
    this.#fill(init)
  }

  #fill(init: object): void {
    if (Symbol.iterator in init) {
      for (const pair of init as Iterable<Iterable<string>>) {
        const fields = [...pair]
        if (fields.length !== 2) throw new TypeError('Headers: each pair must have a name and a value')
        this.#append(fields[0], fields[1])
      }
      return
    }
    for (const name of Reflect.ownKeys(init)) {
      if (!Object.prototype.propertyIsEnumerable.call(init, name)) continue
      if (typeof name === 'symbol') throw new TypeError('Headers: a name cannot be a symbol')
      this.#append(name, (init as Record<string, string>)[name])
    }
  }

  append(name: unknown, value: unknown): void {
    this.#append(name, value)
  }

  #append(name: unknown, value: unknown): void {
    const key = normalName(name)
    const text = normalValue(key, value)
    this.#assertMutable()
    const values = this.#fields.get(key)
    if (values === undefined) this.#fields.set(key, [text])
    else values.push(text)
  }

  set(name: unknown, value: unknown): void {
    const key = normalName(name)
    const text = normalValue(key, value)
    this.#assertMutable()
    this.#fields.set(key, [text])
  }

  delete(name: unknown): void {
    const key = normalName(name)
    this.#assertMutable()
    this.#fields.delete(key)
  }

  get(name: unknown): string | null {
    return this.#fields.get(normalName(name))?.join(', ') ?? null
  }

  has(name: unknown): boolean {
    return this.#fields.has(normalName(name))
  }

  getSetCookie(): string[] {
    return [...(this.#fields.get('set-cookie') ?? [])]
  }

  forEach(each: (value: string, name: string, headers: Headers) => void, self?: unknown): void {
    for (const [name, value] of this) each.call(self, value, name, this)
  }

  *entries(): IterableIterator<[string, string]> {
    for (const name of [...this.#fields.keys()].sort()) {
      const values = this.#fields.get(name) ?? []
      if (name !== 'set-cookie') yield [name, values.join(', ')]
      else for (const value of values) yield [name, value]
    }
  }

  *keys(): IterableIterator<string> {
    for (const [name] of this.entries()) yield name
  }

  *values(): IterableIterator<string> {
    for (const [, value] of this.entries()) yield value
  }

  [Symbol.iterator](): IterableIterator<[string, string]> {
    return this.entries()
  }

  get [Symbol.toStringTag](): string {
    return 'Headers'
  }

  #assertMutable(): void {
    if (this.#guard === 'immutable') throw new TypeError('Headers are immutable')
  }

  /** For the guest itself: sets who may change the fields. Returns the same object. */
  static guard(headers: Headers, guard: HeadersGuard): Headers {
    headers.#guard = guard
    return headers
  }

  /** For the guest itself: fields in the order in which they were added, Set-Cookie ones apart, others joined. */
  static list(headers: Headers): [name: string, value: string][] {
    return [...headers.#fields].flatMap(([name, values]) =>
      name === 'set-cookie'
        ? values.map((value): [string, string] => [name, value])
        : [[name, values.join(', ')] as [string, string]],
    )
  }
}
