import { RouterError } from './router-error.ts'

/** Fields of a request as `headers()` shows them. */
export class ReadonlyHeaders {
  readonly #headers: Headers

  constructor(headers: Headers) {
    this.#headers = headers
  }

  get(name: string): string | null {
    return this.#headers.get(name)
  }

  has(name: string): boolean {
    return this.#headers.has(name)
  }

  getSetCookie(): string[] {
    return this.#headers.getSetCookie()
  }

  forEach(visit: (value: string, name: string, headers: ReadonlyHeaders) => void): void {
    for (const [name, value] of this.#headers) visit(value, name, this)
  }

  keys(): IterableIterator<string> {
    return this.#headers.keys()
  }

  values(): IterableIterator<string> {
    return this.#headers.values()
  }

  entries(): IterableIterator<[string, string]> {
    return this.#headers.entries()
  }

  [Symbol.iterator](): IterableIterator<[string, string]> {
    return this.#headers.entries()
  }

  append(): never {
    return refuseChange()
  }

  set(): never {
    return refuseChange()
  }

  delete(): never {
    return refuseChange()
  }
}

function refuseChange(): never {
  throw new RouterError('ROUTER_MISUSE', 'The fields of a request cannot be changed. Middleware can, for what follows.')
}
