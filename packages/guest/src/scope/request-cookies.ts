import { parseCookies } from './cookie-text.ts'

/** A cookie as it is read. */
export interface CookiePair {
  readonly name: string
  readonly value: string
}

/** The cookies of a request. Changes to it are seen by later reads of the same request only. */
export class RequestCookies {
  readonly #cookies: Map<string, string>

  constructor(headers: { get(name: string): string | null }) {
    this.#cookies = parseCookies(headers.get('cookie') ?? '')
  }

  get size(): number {
    return this.#cookies.size
  }

  get(name: string | CookiePair): CookiePair | undefined {
    const key = nameOf(name)
    const value = this.#cookies.get(key)
    return value === undefined ? undefined : { name: key, value }
  }

  getAll(name?: string | CookiePair): CookiePair[] {
    const all = [...this.#cookies].map(([key, value]) => ({ name: key, value }))
    return name === undefined ? all : all.filter((cookie) => cookie.name === nameOf(name))
  }

  has(name: string): boolean {
    return this.#cookies.has(name)
  }

  set(name: string | CookiePair, value?: string): this {
    const pair = typeof name === 'string' ? { name, value: value ?? '' } : name
    this.#cookies.set(pair.name, pair.value)
    return this
  }

  /** Returns whether there was such a cookie; for a list, one answer each. */
  delete(names: string | readonly string[]): boolean | boolean[] {
    return typeof names === 'string' ? this.#cookies.delete(names) : names.map((name) => this.#cookies.delete(name))
  }

  clear(): this {
    this.#cookies.clear()
    return this
  }

  [Symbol.iterator](): IterableIterator<[string, CookiePair]> {
    return this.getAll()
      .map((cookie): [string, CookiePair] => [cookie.name, cookie])
      .values()
  }

  /** The Cookie field that these cookies make. */
  toString(): string {
    return [...this.#cookies].map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('; ')
  }
}

function nameOf(name: string | CookiePair): string {
  return typeof name === 'string' ? name : name.name
}
