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

/** The hosts that calls wait for. */
interface AwaitedHosts {
  /** Calls of one site that may wait at a time. */
  readonly queueMax: number
  /** A host that the site's calls can be sent to. */
  connectedPeer(site: string): HostPeer | undefined
  /** Until when it is of use that a call waits; a time that has passed: not at all. */
  waitsUntil(call: WaitingCall): number
  /** Says why no host came. */
  refusal(site: string): Error
}

/** Node fires timers with a longer delay at once. */
const MAX_TIMER_MS = 2 ** 31 - 1

/** Calls that no host can take at the moment: a bounded number for each site, each until its deadline. */
export class HostWaits {
  readonly #hosts: AwaitedHosts
  /** By site, in the order in which they came. */
  readonly #waiting = new Map<string, Map<WaitingCall, NodeJS.Timeout>>()

  constructor(hosts: AwaitedHosts) {
    this.#hosts = hosts
  }

  /** Takes a call in, or tells it in a later turn that it is of no use: no host can be there by its deadline, or too many wait. */
  add(call: WaitingCall): void {
    const { site } = call
    const calls = this.#waiting.get(site) ?? new Map<WaitingCall, NodeJS.Timeout>()
    if (this.#hosts.waitsUntil(call) <= performance.now()) {
      setImmediate(() => call.failed(this.#hosts.refusal(site)))
    } else if (calls.size >= this.#hosts.queueMax) {
      const message = `too many requests are already waiting for a render host for ${site}`
      setImmediate(() => call.failed(new WorkerError('WORKER_QUEUE_FULL', message)))
    } else {
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
    for (const [site, calls] of [...this.#waiting]) {
      for (const call of [...calls.keys()]) {
        const peer = this.#hosts.connectedPeer(site)
        if (peer === undefined && this.#hosts.waitsUntil(call) > performance.now()) continue
        if (!this.remove(call)) continue
        if (peer === undefined) call.failed(this.#hosts.refusal(site))
        else call.connected(peer)
      }
    }
  }

  /** A host may have become known in time that is worth more patience than there was when the call came. */
  #timer(call: WaitingCall): NodeJS.Timeout {
    const leftMs = Math.min(MAX_TIMER_MS, Math.max(0, this.#hosts.waitsUntil(call) - performance.now()))
    return setTimeout(() => this.#late(call), Math.ceil(leftMs))
  }

  #late(call: WaitingCall): void {
    const calls = this.#waiting.get(call.site)
    if (calls?.has(call) !== true) return
    if (this.#hosts.waitsUntil(call) > performance.now()) calls.set(call, this.#timer(call))
    else if (this.remove(call)) call.failed(this.#hosts.refusal(call.site))
  }
}
