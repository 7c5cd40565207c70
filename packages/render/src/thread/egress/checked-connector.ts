import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { buildConnector } from 'undici'
import { RenderError } from '../../errors.ts'
import { checkEgress, type EgressRules } from './address-policy.ts'

interface Found {
  readonly address: string
  readonly family: number
}

async function addressesOf(hostname: string): Promise<Found[]> {
  const family = isIP(hostname)
  if (family !== 0) return [{ address: hostname, family }]
  try {
    return await lookup(hostname, { all: true })
  } catch (error) {
    throw new RenderError('RENDER_FETCH_FAILED', `the name ${hostname} does not resolve`, { cause: error })
  }
}

/**
 * Resolves a name once and keeps the addresses that may be connected to.
 * @throws RENDER_FETCH_REFUSED when none may, RENDER_FETCH_FAILED when the name does not resolve
 */
export async function allowedAddresses(hostname: string, port: number, rules: EgressRules): Promise<Found[]> {
  const found = await addressesOf(hostname)
  const usable: Found[] = []
  let refusal = `${hostname} has no address`
  for (const one of found) {
    const verdict = checkEgress({ hostname, address: one.address, port }, rules)
    if (verdict.isAllowed) usable.push(one)
    else refusal = verdict.reason
  }
  if (usable.length === 0) throw new RenderError('RENDER_FETCH_REFUSED', refusal)
  return usable
}

/**
 * Refuses a URL whose address needs no look-up before anything is done for it: a page may ask for thousands.
 * @throws RENDER_FETCH_REFUSED
 */
export function refuseAddress(url: URL, rules: EgressRules): void {
  const hostname = url.hostname.replace(/^\[|\]$/g, '')
  if (isIP(hostname) === 0) return
  const verdict = checkEgress({ hostname, address: hostname, port: portOf(url) }, rules)
  if (!verdict.isAllowed) throw new RenderError('RENDER_FETCH_REFUSED', verdict.reason)
}

function portOf({ port, protocol }: { readonly port: string | null; readonly protocol: string }): number {
  return Number(port === '' || port === null ? (protocol === 'https:' ? 443 : 80) : port)
}

/**
 * A connector for undici that connects to exactly the addresses it has checked: there is no second look-up between the
 * check and the connection.
 */
export function checkedConnector(rules: EgressRules, timeoutMs: number): buildConnector.connector {
  return (options, callback) => {
    const hostname = options.hostname.replace(/^\[|\]$/g, '').toLowerCase()
    const port = portOf(options)
    allowedAddresses(hostname, port, rules).then(
      (addresses) => {
        const connect = buildConnector({
          timeout: timeoutMs,
          autoSelectFamily: true,
          maxCachedSessions: 0,
          lookup: (_name, lookupOptions, done) => {
            const [first] = addresses
            if (lookupOptions.all === true) done(null, addresses)
            else done(null, first?.address ?? '', first?.family ?? 0)
          },
        })
        connect({ ...options, hostname }, callback)
      },
      (error: Error) => callback(error, null),
    )
  }
}
