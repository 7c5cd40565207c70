import { codeOf } from '@svc/core'
import type { HostEndpoint } from '@svc/protocol'
import { WorkerError } from '../errors/errors.ts'
import { connectToHost, type HostPeer } from './host-connection.ts'
import { HostWaits, type WaitingCall } from './host-waits.ts'

const RECONNECT_MS = 50

interface Host {
  /** A host that is announced again may get other sites. */
  endpoint: HostEndpoint
  peer: HostPeer | undefined
  isRetired: boolean
  /** It is shutting down, and refuses calls. */
  isDraining: boolean
  /** Sites that it did not know at the last call, until hosts or sites change. */
  readonly unknownSites: Set<string>
  /** Sites whose calls failed because the host went away. */
  readonly lostSites: Set<string>
  /** Since when it has not been connected; undefined: it is. */
  awayAt: number | undefined
  /** The master starts it no sooner. */
  startsAt: number
}

/** Events of a host set. */
interface HostSetEvents {
  problem(error: Error): void
  /** A host went away while these sites had renders on it. */
  lost(hostId: string, sites: readonly string[]): void
}

/** Options of a host set. */
interface HostSetOptions {
  readonly workerId: number
  readonly events: HostSetEvents
  /** The settings in force: how long calls wait for a host, and how many for one site. */
  readonly limits: () => { readonly timeout_ms: number; readonly queue_max: number }
}

/** A peer's end is reported a moment before the host is marked as lost: a retry must not land on it again. */
function livePeer(host: Host, site: string): HostPeer | undefined {
  if (host.isDraining || host.unknownSites.has(site)) return undefined
  return host.peer?.isClosed === true ? undefined : host.peer
}

/** On the monotonic clock. */
function startOf({ startsAt = 0 }: HostEndpoint): number {
  return startsAt === 0 ? 0 : performance.now() + startsAt - Date.now()
}

/** Identity of an endpoint: another host may listen at the same place. */
function keyOf({ id, socket, token }: HostEndpoint): string {
  return `${id}\n${socket}\n${token}`
}

/**
 * The render hosts that the master has announced, each with a live connection where one could be made. A host that went
 * away is connected to again until the master announces a set without it.
 */
export class HostSet {
  readonly #options: HostSetOptions
  /** Calls that wait for a host. */
  readonly waits: HostWaits
  #hosts: Host[] = []
  /** Also of hosts that are no longer announced, as long as their connection lives. */
  readonly #hostOf = new Map<HostPeer, Host>()
  #turn = 0
  #hasSite: (site: string) => boolean = () => true
  #isClosed = false

  constructor(options: HostSetOptions) {
    this.#options = options
    this.waits = new HostWaits(this)
  }

  /** How long a call waits for hosts. */
  get waitMs(): number {
    return this.#options.limits().timeout_ms
  }

  get queueMax(): number {
    return this.#options.limits().queue_max
  }

  /** Replaces the set. Hosts that stay keep their connection; calls on others run to their end. */
  update(endpoints: readonly HostEndpoint[]): void {
    const left = new Map(this.#hosts.map((host) => [keyOf(host.endpoint), host]))
    this.#hosts = endpoints.map((endpoint) => {
      const known = left.get(keyOf(endpoint))
      if (known === undefined) return this.#add(endpoint)
      left.delete(keyOf(endpoint))
      known.endpoint = endpoint
      known.startsAt = startOf(endpoint)
      return known
    })
    for (const host of left.values()) this.#retire(host)
    this.#changed()
  }

  /** Another generation is served: hosts may know other sites, and no host will ever know one that it does not have. */
  sitesChanged(hasSite: (site: string) => boolean): void {
    this.#hasSite = hasSite
    this.#changed()
  }

  /** A connected host for the site, or undefined. */
  connectedPeer(site: string): HostPeer | undefined {
    const own = this.#ownHost(site)
    if (own !== undefined) return livePeer(own, site)
    for (let tries = this.#hosts.length; tries > 0; tries--) {
      this.#turn = (this.#turn + 1) % this.#hosts.length
      const host = this.#hosts[this.#turn]
      const peer = host?.endpoint.sites === '*' ? livePeer(host, site) : undefined
      if (peer !== undefined) return peer
    }
    return undefined
  }

  /** Notes that a call for a site failed because its host disconnected. */
  callLost(peer: HostPeer, site: string): void {
    this.#hostOf.get(peer)?.lostSites.add(site)
  }

  /**
   * Notes that a host has refused a call without having begun with it: because it ends, or because a reload has given the site to
   * another one. It is sent nothing more of that kind. False: the error is another one.
   */
  noteRefusal(peer: HostPeer, site: string, error: Error): boolean {
    const code = codeOf(error)
    const host = this.#hostOf.get(peer)
    if (code === 'CORE_PEER_LEAVING' || code === 'RENDER_DRAINING') {
      if (host?.peer === peer) host.isDraining = true
      return true
    }
    if (code !== 'RENDER_UNKNOWN_SITE') return false
    if (host?.peer === peer) host.unknownSites.add(site)
    return true
  }

  close(): void {
    this.#isClosed = true
    for (const host of this.#hosts) {
      host.isRetired = true
      host.peer?.close()
    }
    this.#changed()
  }

  /** For a host that others start and that has been away for longer than a call waits, no call does. */
  waitsUntil({ site, deadlineAt }: WaitingCall): number {
    if (this.#isClosed || !this.#hasSite(site)) return 0
    const own = this.#ownHost(site)
    const hosts = own === undefined ? this.#hosts.filter(({ endpoint }) => endpoint.sites === '*') : [own]
    if (hosts.length === 0) return deadlineAt
    // Not one of them is started in time.
    if (hosts.every(({ startsAt }) => startsAt > deadlineAt)) return 0
    return Math.min(deadlineAt, Math.max(...hosts.map((host) => this.#awaitedUntil(host))))
  }

  /** The master starts its hosts again. The unit of a site is started by others, or never. */
  #awaitedUntil({ awayAt, endpoint }: Host): number {
    const isComing = awayAt === undefined || endpoint.sites === '*' || endpoint.startsAt !== undefined
    return isComing ? Number.POSITIVE_INFINITY : awayAt + this.waitMs
  }

  refusal(site: string): WorkerError {
    const own = this.#ownHost(site)
    const isElsewhere = own?.endpoint.token === '' && own.endpoint.startsAt === undefined
    const advice = isElsewhere ? `; start this site's process with "svc serve --site ${site}"` : ''
    return new WorkerError('WORKER_NO_HOST', `timed out waiting for a render host for ${site}${advice}`)
  }

  #ownHost(site: string): Host | undefined {
    return this.#hosts.find(({ endpoint }) => endpoint.sites !== '*' && endpoint.sites.includes(site))
  }

  #add(endpoint: HostEndpoint): Host {
    const host: Host = {
      endpoint,
      peer: undefined,
      isRetired: false,
      isDraining: false,
      unknownSites: new Set(),
      lostSites: new Set(),
      awayAt: performance.now(),
      startsAt: startOf(endpoint),
    }
    // An absent host has no token: its name only keeps its sites from the shared hosts.
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
    const { workerId, events } = this.#options
    connectToHost(host.endpoint, workerId, (error) => events.problem(error)).then(
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
    // Another process may listen there now.
    host.isDraining = false
    host.unknownSites.clear()
    host.awayAt = undefined
    this.#hostOf.set(peer, host)
    const lost = () => {
      host.peer = undefined
      host.awayAt = performance.now()
      this.#connectLater(host)
      setImmediate(() => this.#reportLost(host, peer))
    }
    peer.closed.then(lost, lost)
    this.waits.serve()
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
    if (!isExpected) this.#options.events.lost(host.endpoint.id, sites)
  }

  #connectLater(host: Host): void {
    if (host.isRetired || this.#isClosed) return
    setTimeout(() => {
      if (!host.isRetired && !this.#isClosed) this.#connect(host)
    }, RECONNECT_MS).unref()
  }

  /** Hosts that did not know a site may know it now. One that ends is left out of the set, or refuses once more. */
  #changed(): void {
    for (const host of this.#hosts) {
      host.unknownSites.clear()
      host.isDraining = false
    }
    this.waits.serve()
  }
}
