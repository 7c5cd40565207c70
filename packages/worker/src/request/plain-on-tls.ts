import type { RequestContext } from './request-context.ts'

/** True if a request came without TLS to an address that speaks TLS: nothing but an error is for it. */
export function isPlainOnTls({ generation, exchange }: RequestContext): boolean {
  const { scheme, listener } = exchange.request
  return generation.plainOnTls.size > 0 && scheme === 'http' && generation.plainOnTls.has(listener)
}
