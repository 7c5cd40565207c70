import type { CookieRules, PatternSpec, Template } from '@svc/vhosts'
import type { LocationExchange } from '../vhost/location-handler.ts'
import { filledIn } from './redirect-rewriter.ts'

/** One part of a Set-Cookie field. `value` is undefined without "=". */
interface Attribute {
  name: string
  value: string | undefined
}

/** Changes a text; undefined: it does not apply to this one. */
type Change = (exchange: LocationExchange, value: string) => string | undefined

interface FlagChange {
  readonly fits: (exchange: LocationExchange, cookie: string) => boolean
  readonly flags: readonly Template[]
}

/** Rewrites Set-Cookie fields of an upstream as `proxy_cookie_domain`, `proxy_cookie_path` and `proxy_cookie_flags` do. */
export class CookieRewriter {
  readonly #domains: readonly Change[]
  readonly #paths: readonly Change[]
  readonly #flags: readonly FlagChange[]

  constructor({ domains, paths, flags }: CookieRules) {
    this.#domains = domains.map(({ from, to }) => ('source' in from ? ofPattern(from, to) : ofDomain(from, to)))
    this.#paths = paths.map(({ from, to }) => ('source' in from ? ofPattern(from, to) : ofPath(from, to)))
    this.#flags = flags.map((rule) => ({ fits: cookieMatcher(rule.cookie), flags: rule.flags }))
  }

  /** The new value of a field; a cookie that no rule is about stays as it is. */
  rewrite(exchange: LocationExchange, field: string): string {
    const attributes = parse(field)
    const [cookie, ...rest] = attributes
    if (cookie?.value === undefined) return field
    let isChanged = false
    for (const attribute of rest) {
      const changed = this.#changed(exchange, attribute)
      if (changed === undefined) continue
      attribute.value = changed
      isChanged = true
    }
    const flags = this.#flagsOf(exchange, cookie.name)
    if (!isChanged && flags.size === 0) return field
    const written = flags.size === 0 ? attributes : [cookie, ...withFlags(rest, flags)]
    return written.map(({ name, value }) => (value === undefined ? name : `${name}=${value}`)).join('; ')
  }

  #changed(exchange: LocationExchange, { name, value }: Attribute): string | undefined {
    if (value === undefined) return undefined
    const lower = name.toLowerCase()
    const changes = lower === 'domain' ? this.#domains : lower === 'path' ? this.#paths : []
    for (const change of changes) {
      const changed = change(exchange, value)
      if (changed !== undefined) return changed
    }
    return undefined
  }

  /** Of the first rule that is about the cookie. */
  #flagsOf(exchange: LocationExchange, cookie: string): ReadonlySet<string> {
    const rule = this.#flags.find(({ fits }) => fits(exchange, cookie))
    const texts = rule?.flags.map((flag) => exchange.text(flag).toLowerCase()) ?? []
    return new Set(texts.filter((text) => text !== ''))
  }
}

function parse(field: string): Attribute[] {
  return field.split(';').map((part) => {
    const equals = part.indexOf('=')
    const trimmed = (text: string) => text.replace(/^ +| +$/g, '')
    return equals === -1
      ? { name: trimmed(part), value: undefined }
      : { name: trimmed(part.slice(0, equals)), value: trimmed(part.slice(equals + 1)) }
  })
}

function ofPattern(from: PatternSpec, to: Template): Change {
  const pattern = new RegExp(from.source, from.flags)
  return (exchange, value) => {
    const match = pattern.exec(value)
    return match === null ? undefined : filledIn(exchange, to, match)
  }
}

/** A leading dot of the cookie's domain stays. */
function ofDomain(from: Template, to: Template): Change {
  return (exchange, value) => {
    const dot = value.startsWith('.') ? '.' : ''
    if (value.slice(dot.length).toLowerCase() !== exchange.text(from).toLowerCase()) return undefined
    return dot + exchange.text(to)
  }
}

function ofPath(from: Template, to: Template): Change {
  return (exchange, value) => {
    const prefix = exchange.text(from)
    return value.startsWith(prefix) ? exchange.text(to) + value.slice(prefix.length) : undefined
  }
}

function cookieMatcher(cookie: Template | PatternSpec): FlagChange['fits'] {
  if (!('source' in cookie)) return (exchange, name) => exchange.text(cookie).toLowerCase() === name.toLowerCase()
  const pattern = new RegExp(cookie.source, cookie.flags)
  return (_exchange, name) => pattern.test(name)
}

const SAME_SITE = ['Strict', 'Lax', 'None']

function withFlags(attributes: readonly Attribute[], flags: ReadonlySet<string>): Attribute[] {
  const sameSite = SAME_SITE.find((value) => flags.has(`samesite=${value.toLowerCase()}`))
  const missing = new Set(['secure', 'httponly'].filter((flag) => flags.has(flag)))
  let needsSameSite = sameSite !== undefined
  const kept: Attribute[] = []
  for (const attribute of attributes) {
    const name = attribute.name.toLowerCase()
    const isFlag = name === 'secure' || name === 'httponly'
    if (isFlag && !missing.delete(name) && flags.has(`no${name}`) && !flags.has(name)) continue
    if (name === 'samesite') {
      if (sameSite === undefined && flags.has('nosamesite')) continue
      const isToBeSet = needsSameSite && attribute.value?.toLowerCase() !== sameSite?.toLowerCase()
      needsSameSite = false
      kept.push(isToBeSet ? { name: 'SameSite', value: sameSite } : attribute)
    } else kept.push(attribute)
  }
  if (missing.has('secure')) kept.push({ name: 'Secure', value: undefined })
  if (missing.has('httponly')) kept.push({ name: 'HttpOnly', value: undefined })
  if (needsSameSite) kept.push({ name: 'SameSite', value: sameSite })
  return kept
}
