import { decodePath, type HeaderList } from '@svc/http'
import type { LocationExchange } from '../vhost/location-handler.ts'

/** Fields of the upstream's answer that the answer at the other path carries, as with nginx. */
const CARRIED: ReadonlySet<string> = new Set([
  'accept-ranges',
  'cache-control',
  'content-disposition',
  'content-type',
  'expires',
  'set-cookie',
])

/** A segment ".." of a path, escaped or not: nginx takes no such path, wherever it leads. */
const LEADS_UP = /(?:^|\/|%2f)(?:\.|%2e){2}(?:$|\/|%2f)/i

/** Goes on at the path that an upstream names in X-Accel-Redirect, if it does; 404 for one that has "..". False: it names none. */
export function innerRedirect(exchange: LocationExchange, headers: HeaderList): boolean {
  const target = headers.find(([name]) => name === 'x-accel-redirect')?.[1]
  if (target === undefined) return false
  const { context } = exchange
  const carried = headers.filter(([name]) => CARRIED.has(name))
  context.responseHeaders = [...context.responseHeaders, ...carried]
  if (target.startsWith('@')) {
    exchange.redirectInside({ named: target.slice(1) })
    return true
  }
  const question = target.indexOf('?')
  const path = question === -1 ? target : target.slice(0, question)
  const decoded = path.startsWith('/') && !LEADS_UP.test(path) ? decodePath(path) : undefined
  if (decoded === undefined) exchange.fail(404)
  else exchange.redirectInside({ uri: decoded.path, args: question === -1 ? '' : target.slice(question + 1) })
  return true
}

/** What an upstream at the other path says of its own body stands. */
export function keepOwnType({ context }: LocationExchange, headers: HeaderList): void {
  const { responseHeaders } = context
  if (responseHeaders.length === 0 || !headers.some(([name]) => name === 'content-type')) return
  context.responseHeaders = responseHeaders.filter(([name]) => name.toLowerCase() !== 'content-type')
}
