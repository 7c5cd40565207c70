import { type Deferred, deferred, withDeadline } from '@svc/core'
import type { HostEndpoint } from '@svc/protocol'
import { WorkerError } from '../errors.ts'
import { connectToHost, type HostPeer } from './host-connection.ts'

/** How long a request waits for a host that is being replaced before it is answered with an error. */
const HOST_WAIT_MS = 5_000
const RECONNECT_MS = 50

interface Host {
  /** Announced anew, a host may get other sites. */
  endpoint: HostEndpoint
  peer: HostPeer | undefined
  isRetired: boolean
  /** Sites whose calls failed because the host went away. */
  readonly lostSites: Set<string>
  /** Until when requests wait for it while it is away. */
  awaitedUntil: number
}

/** What a host set reports. */
export interface HostSetEvents {
  problem(error: Error): void
  /** A host went away while these sites had renders on it. */
  lost(hostId: string, sites: readonly string[]): void
}

/** A peer is told of its end a moment before the host is marked as lost: a retry must not land on it again. */
function livePeer(host: Host): HostPeer | undefined {
  return host.peer?.isClosed === true ? undefined : host.peer
}

/** What makes an endpoint the same one as before: another host may listen at the same place. */
function keyOf({ id, socket, token }: HostEndpoint): string {
  return `${id}\n${socket}\n${token}`
}

function serves(endpoint: HostEndpoint, site: string): boolean {
  return endpoint.sites !== '*' && endpoint.sites.includes(site)
}

/**
 * The render hosts that the master has announced, each with a live connection where one could be made. A host that went
 * away is connected to again until the master announces a set without it.
 */
export class HostSet {
  readonly #workerId: number
  readonly #events: HostSetEvents
  #hosts: Host[] = []
  /** Also of hosts that are no longer announced, as long as their connection lives. */
  readonly #hostOf = new Map<HostPeer, Host>()
  #turn = 0
  #changed: Deferred<void> = deferred()
  #isClosed = false

  constructor(workerId: number, events: HostSetEvents) {
    this.#workerId = workerId
    this.#events = events
  }

  /** Replaces the set. Hosts that stay keep their connection; calls on others run to their end. */
  update(endpoints: readonly HostEndpoint[]): void {
    const left = new Map(this.#hosts.map((host) => [keyOf(host.endpoint), host]))
    this.#hosts = endpoints.map((endpoint) => {
      const known = left.get(keyOf(endpoint))
      if (known === undefined) return this.#add(endpoint)
      left.delete(keyOf(endpoint))
      known.endpoint = endpoint
      return known
    })
    for (const host of left.values()) this.#retire(host)
    this.#announce()
  }

  /**
   * A connected host for the site, waiting for one when there is none. For a host of its own that has been away for longer than
   * anybody waits, nobody does.
   * @throws WORKER_NO_HOST when none turns up in time
   */
  async peerFor(site: string): Promise<HostPeer> {
    const askedAt = performance.now()
    for (;;) {
      const peer = this.connectedPeer(site)
      if (peer !== undefined) return peer
      const own = this.#ownHost(site)
      const leftMs = Math.min(askedAt + HOST_WAIT_MS, own?.awaitedUntil ?? Number.POSITIVE_INFINITY) - performance.now()
      if (leftMs <= 0 || this.#isClosed) {
        const advice = own === undefined ? '' : `; "svc serve --site ${site}" is the process of this site`
        throw new WorkerError('WORKER_NO_HOST', `no render host for ${site} for ${HOST_WAIT_MS} ms${advice}`)
      }
      await withDeadline(this.#changed.promise, leftMs, 'waiting for a render host').catch(() => undefined)
    }
  }

  /** A connected host for the site, or undefined. */
  connectedPeer(site: string): HostPeer | undefined {
    const own = this.#ownHost(site)
    if (own !== undefined) return livePeer(own)
    for (let tries = this.#hosts.length; tries > 0; tries--) {
      this.#turn = (this.#turn + 1) % this.#hosts.length
      const host = this.#hosts[this.#turn]
      const peer = host?.endpoint.sites === '*' ? livePeer(host) : undefined
      if (peer !== undefined) return peer
    }
    return undefined
  }

  /** Notes that a call for a site failed because its host is gone. */
  callLost(peer: HostPeer, site: string): void {
    this.#hostOf.get(peer)?.lostSites.add(site)
  }

  close(): void {
    this.#isClosed = true
    for (const host of this.#hosts) {
      host.isRetired = true
      host.peer?.close()
    }
    this.#announce()
  }

  #ownHost(site: string): Host | undefined {
    return this.#hosts.find((host) => serves(host.endpoint, site))
  }

  #add(endpoint: HostEndpoint): Host {
    const awaitedUntil = performance.now() + HOST_WAIT_MS
    const host: Host = { endpoint, peer: undefined, isRetired: false, lostSites: new Set(), awaitedUntil }
    // Without a token nobody is there: the name only keeps its sites from the shared hosts.
    if (endpoint.token !== '') this.#connect(host)
    return host
  }

  /** Lets the calls in flight end before the connection does. */
  #retire(host: Host): void {
    host.isRetired = true
    const peer = host.peer
    if (peer === undefined) return
    const closeWhenIdle = () => {
      if (peer.pendingCalls === 0) peer.close()
      else setTimeout(closeWhenIdle, RECONNECT_MS).unref()
    }
    closeWhenIdle()
  }

  #connect(host: Host): void {
    connectToHost(host.endpoint, this.#workerId, (error) => this.#events.problem(error)).then(
      (peer) => {
        if (host.isRetired || this.#isClosed) {
          peer.close()
          return
        }
        this.#connected(host, peer)
      },
      () => this.#connectLater(host),
    )
  }

  #connected(host: Host, peer: HostPeer): void {
    host.peer = peer
    this.#hostOf.set(peer, host)
    const lost = () => {
      host.peer = undefined
      host.awaitedUntil = performance.now() + HOST_WAIT_MS
      this.#connectLater(host)
      setImmediate(() => this.#reportLost(host, peer))
    }
    peer.closed.then(lost, lost)
    this.#announce()
  }

  /**
   * Runs after the calls of a lost host have failed, and so have named their sites. That a host is gone may be known here
   * only after its successor was announced.
   */
  #reportLost(host: Host, peer: HostPeer): void {
    this.#hostOf.delete(peer)
    const sites = [...host.lostSites]
    host.lostSites.clear()
    const isExpected = this.#isClosed || (host.isRetired && sites.length === 0)
    if (!isExpected) this.#events.lost(host.endpoint.id, sites)
  }

  #connectLater(host: Host): void {
    if (host.isRetired || this.#isClosed) return
    setTimeout(() => {
      if (!host.isRetired && !this.#isClosed) this.#connect(host)
    }, RECONNECT_MS).unref()
  }

  #announce(): void {
    this.#changed.resolve()
    this.#changed = deferred()
  }
}
