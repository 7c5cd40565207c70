/** A server of a group, as configured. */
export interface UpstreamServerSpec {
  /** "host:port", with brackets for IPv6, or "unix:/path". */
  readonly address: string
  readonly weight: number
  /** 0: failures are not counted. */
  readonly maxFails: number
  readonly failTimeoutMs: number
  readonly isBackup: boolean
  readonly isDown: boolean
  /** Most requests in flight; absent: any number. */
  readonly maxConns?: number
  /** As written, where that differs from the address: hashes are made of it. */
  readonly written?: string
  /** True if its name is resolved at run time. */
  readonly isResolved?: boolean
}

/**
 * One server of a group, with this worker's state of it. Written by its groups alone: those of several generations share it, so each
 * of them knows itself which servers are down.
 */
export class Peer {
  readonly spec: Omit<UpstreamServerSpec, 'isDown'>
  /** Requests in flight. */
  active = 0
  /** Failures in the window of `failTimeoutMs`. */
  fails = 0
  /** When it last failed, and when it was last given a chance, in ms of the monotonic clock. */
  failedAt = Number.NEGATIVE_INFINITY
  checkedAt = Number.NEGATIVE_INFINITY
  /** Smooth weighted round robin: falls while it fails and rises again with each choice. */
  effectiveWeight: number
  currentWeight = 0

  constructor(spec: Peer['spec']) {
    this.spec = spec
    this.effectiveWeight = spec.weight
  }

  /** True if it may be tried: a server that failed too often may not, until its fail time-out has passed. */
  isInService(now: number): boolean {
    const { maxFails, failTimeoutMs } = this.spec
    if (this.isFull) return false
    return maxFails === 0 || this.fails < maxFails || now - this.checkedAt > failTimeoutMs
  }

  /** True if it has as many requests in flight as it may have. */
  get isFull(): boolean {
    const { maxConns } = this.spec
    return maxConns !== undefined && this.active >= maxConns
  }

  /** It has been chosen. */
  taken(now: number): void {
    this.active++
    if (now - this.checkedAt > this.spec.failTimeoutMs) this.checkedAt = now
  }

  failed(now: number): void {
    const { weight, maxFails } = this.spec
    this.fails++
    this.failedAt = now
    this.checkedAt = now
    if (maxFails > 0) this.effectiveWeight = Math.max(0, this.effectiveWeight - Math.floor(weight / maxFails))
  }

  /** It answered: earlier failures count no more, if they were before it was given this chance. */
  succeeded(): void {
    if (this.failedAt < this.checkedAt) this.fails = 0
  }
}
