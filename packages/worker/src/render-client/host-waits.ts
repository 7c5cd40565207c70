import { WorkerError } from '../errors/errors.ts'
import type { HostPeer } from './host-connection.ts'

/** A call that waits for a host. */
export interface WaitingCall {
  readonly site: string
  /** Milliseconds of the monotonic clock. */
  readonly deadlineAt: number
  /** A host is connected. Called at most once; no call follows it. */
  connected(peer: HostPeer): void
  /** No host became available in time. Called at most once; no call follows it. */
  failed(error: Error): void
}

/** Options of the waiting calls. */
interface WaitOptions {
  /** Calls of one site that may wait at a time. */
  readonly queueMax: () => number
  /** A host that the site's calls can be sent to. */
  readonly connectedPeer: (site: string) => HostPeer | undefined
  /** Until when it is of use that a call waits; a time that has passed: not at all. */
  readonly waitsUntil: (call: WaitingCall) => number
  /** Says why no host came. */
  readonly refusal: (site: string) => Error
}

/** Node fires timers with a longer delay at once. */
const MAX_TIMER_MS = 2 ** 31 - 1

/** Calls that no host can take at the moment: a bounded number for each site, each until its deadline. */
export class HostWaits {
  readonly #options: WaitOptions
  /** By site, in the order in which they came. */
  readonly #waiting = new Map<string, Map<WaitingCall, NodeJS.Timeout>>()

  constructor(options: WaitOptions) {
    this.#options = options
  }

  /** Calls of a site that wait. */
  count(site: string): number {
    return this.#waiting.get(site)?.size ?? 0
  }

  /** Takes a call in, or tells it in a later turn that it is of no use. */
  add(call: WaitingCall): void {
    const { queueMax, waitsUntil, refusal } = this.#options
    const { site } = call
    if (waitsUntil(call) <= performance.now()) setImmediate(() => call.failed(refusal(site)))
    else if (this.count(site) >= queueMax()) setImmediate(() => call.failed(queueFull(site)))
    else {
      const calls = this.#waiting.get(site) ?? new Map<WaitingCall, NodeJS.Timeout>()
      this.#waiting.set(site, calls)
      calls.set(call, this.#timer(call))
    }
  }

  /** Removes a call. Its callbacks are not called any more. */
  remove(call: WaitingCall): boolean {
    const calls = this.#waiting.get(call.site)
    clearTimeout(calls?.get(call))
    const isRemoved = calls?.delete(call) === true
    if (calls?.size === 0) this.#waiting.delete(call.site)
    return isRemoved
  }

  /** The hosts have changed: sends the calls that can be sent, fails those that no host can serve. */
  serve(): void {
    const { connectedPeer, waitsUntil, refusal } = this.#options
    for (const [site, calls] of [...this.#waiting]) {
      for (const call of [...calls.keys()]) {
        const peer = connectedPeer(site)
        if (peer === undefined && waitsUntil(call) > performance.now()) continue
        if (!this.remove(call)) continue
        if (peer === undefined) call.failed(refusal(site))
        else call.connected(peer)
      }
    }
  }

  /** A host may have become known in time that is worth more patience than there was when the call came. */
  #timer(call: WaitingCall): NodeJS.Timeout {
    const leftMs = Math.min(MAX_TIMER_MS, Math.max(0, this.#options.waitsUntil(call) - performance.now()))
    return setTimeout(() => this.#late(call), Math.ceil(leftMs))
  }

  #late(call: WaitingCall): void {
    const calls = this.#waiting.get(call.site)
    if (calls?.has(call) !== true) return
    if (this.#options.waitsUntil(call) > performance.now()) calls.set(call, this.#timer(call))
    else if (this.remove(call)) call.failed(this.#options.refusal(call.site))
  }
}

function queueFull(site: string): WorkerError {
  return new WorkerError('WORKER_QUEUE_FULL', `too many requests are already waiting for a render host for ${site}`)
}
