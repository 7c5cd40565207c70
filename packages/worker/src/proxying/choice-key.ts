import type { UpstreamSpec } from '@svc/upstream'
import type { LocationExchange } from '../vhost/location-handler.ts'

/** The text by which a group chooses the server of a request; undefined: it chooses by none. */
export function choiceKeyOf(exchange: LocationExchange, { balance, hashKey }: UpstreamSpec): string | undefined {
  if (balance === 'ip_hash') return exchange.context.client.address
  return hashKey === undefined ? undefined : exchange.requestText(hashKey)
}
