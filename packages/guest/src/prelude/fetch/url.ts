/// <reference path="../../modules.d.ts" />
import CoreUrl from 'core-js-pure/actual/url/index.js'
import CoreUrlSearchParams from 'core-js-pure/actual/url-search-params/index.js'

/** WHATWG `URLSearchParams`. */
interface UrlSearchParams extends Iterable<[string, string]> {
  readonly size: number
  append(name: string, value: string): void
  delete(name: string, value?: string): void
  get(name: string): string | null
  getAll(name: string): string[]
  has(name: string, value?: string): boolean
  set(name: string, value: string): void
  sort(): void
  forEach(each: (value: string, name: string, params: UrlSearchParams) => void, self?: unknown): void
  entries(): IterableIterator<[string, string]>
  keys(): IterableIterator<string>
  values(): IterableIterator<string>
  toString(): string
}

/** WHATWG `URL`. */
interface Url {
  href: string
  readonly origin: string
  protocol: string
  username: string
  password: string
  host: string
  hostname: string
  port: string
  pathname: string
  search: string
  readonly searchParams: UrlSearchParams
  hash: string
  toJSON(): string
  toString(): string
}

interface UrlConstructor {
  new (url: string | Url, base?: string | Url): Url
  readonly prototype: Url
  canParse(url: string, base?: string): boolean
  parse(url: string, base?: string): Url | null
}

interface UrlSearchParamsConstructor {
  new (init?: string | Iterable<readonly string[]> | Readonly<Record<string, string>> | UrlSearchParams): UrlSearchParams
  readonly prototype: UrlSearchParams
}

export const URL = CoreUrl as UrlConstructor
export type URL = Url
export const URLSearchParams = CoreUrlSearchParams as UrlSearchParamsConstructor
export type URLSearchParams = UrlSearchParams
