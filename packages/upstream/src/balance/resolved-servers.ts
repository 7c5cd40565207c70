import type { Clock } from '@svc/core'
import type { NameServers } from '../resolver/name-servers.ts'
import { parseServerAddress } from '../resolver/server-address.ts'
import type { UpstreamServerSpec } from './peer.ts'

/** Dependencies of servers whose names are resolved at run time. */
interface ResolvedServersOptions {
  /** As configured; some have names that are resolved. */
  readonly servers: readonly UpstreamServerSpec[]
  readonly names: Pick<NameServers, 'find'>
  readonly clock: Pick<Clock, 'monotonic'>
  /** Takes the servers: one for each address, in place of each name. */
  readonly onServers: (servers: readonly UpstreamServerSpec[]) => void
}

/** Keeps the servers of a group in step with the addresses of their names. */
export class ResolvedServers {
  readonly #options: ResolvedServersOptions
  #untilMs = Number.NEGATIVE_INFINITY
  #inFlight: Promise<void> | undefined

  constructor(options: ResolvedServersOptions) {
    this.#options = options
  }

  /** Undefined: the servers are right now. Rejects if a name has no address and no other server is left. */
  refresh(): Promise<void> | undefined {
    if (this.#options.clock.monotonic() < this.#untilMs) return undefined
    this.#inFlight ??= this.#find().finally(() => {
      this.#inFlight = undefined
    })
    return this.#inFlight
  }

  async #find(): Promise<void> {
    const { servers, names, onServers } = this.#options
    let untilMs = Number.POSITIVE_INFINITY
    let failure: unknown
    const found = await Promise.all(
      servers.map(async (server) => {
        const place = server.isResolved === true ? parseServerAddress(server.address) : undefined
        if (place?.kind !== 'port') return [server]
        const { host, port } = place
        try {
          const answer = await names.find(host)
          untilMs = Math.min(untilMs, answer.untilMs)
          return answer.addresses.map((address) => ({
            ...server,
            address: `${address.includes(':') ? `[${address}]` : address}:${port}`,
          }))
        } catch (error) {
          failure = error
          return []
        }
      }),
    )
    const all = found.flat()
    if (all.length === 0 && failure !== undefined) throw failure
    // After a failure the next request asks again.
    this.#untilMs = failure === undefined ? untilMs : Number.NEGATIVE_INFINITY
    onServers(all)
  }
}
