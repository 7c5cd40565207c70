import { codeOf } from '@svc/core'
import type { RenderProgress } from '@svc/protocol'
import { WorkerError } from '../errors/errors.ts'
import type { HostPeer } from './host-connection.ts'
import type { HostSet } from './host-set.ts'
import type { WaitingCall } from './host-waits.ts'

/** A call to whichever host serves a site. */
export interface HostCall {
  readonly site: string
  /** Sends the call. `reportsStart`: the host has to say when it begins. */
  send(peer: HostPeer, reportsStart: boolean): void
  /** The end of it all. */
  fail(error: Error): void
}

/** The failures after which a call may be sent again. */
interface Repeatable {
  /** After a refusal: the host has taken nothing. */
  readonly ifRefused: boolean
  /** After a loss: the host may have carried it out (RFC 9110 section 9.2.2). */
  readonly ifLost: boolean
}

/** A call may begin on two hosts that die: a third one is not put at risk by a call that may be the cause. */
const MAX_BEGUN = 2

/**
 * Sends one call, waiting for a host where none is connected, and sends it again where that is safe: as often as hosts refuse it,
 * or die before they begin with it, and once when one dies that had begun. From the first wait on, all of it has one deadline.
 */
export class HostAttempts implements WaitingCall {
  readonly #hosts: HostSet
  readonly #call: HostCall
  #deadlineAt: number | undefined
  #begun = 0
  #mayHaveBegun = true
  #isWaiting = false
  #isEnded = false

  constructor(hosts: HostSet, call: HostCall) {
    this.#hosts = hosts
    this.#call = call
  }

  get site(): string {
    return this.#call.site
  }

  get deadlineAt(): number {
    this.#deadlineAt ??= performance.now() + this.#hosts.waitMs
    return this.#deadlineAt
  }

  /** True if it waits for a host. */
  get isWaiting(): boolean {
    return this.#isWaiting
  }

  /** Sends the call for the first time: at once if a host is connected. */
  start(): void {
    const peer = this.#hosts.connectedPeer(this.site)
    if (peer === undefined) this.#wait()
    else this.#call.send(peer, false)
  }

  connected(peer: HostPeer): void {
    this.#isWaiting = false
    this.#again(peer)
  }

  failed(error: Error): void {
    this.#isWaiting = false
    this.#end(error)
  }

  /** Takes in how far the host is. */
  noted({ progress }: RenderProgress): void {
    this.#mayHaveBegun = progress !== 'queued'
  }

  /** Sends the call again after a failure, or ends it with the error. */
  retry(peer: HostPeer, error: Error, may: Repeatable): void {
    const isLost = codeOf(error) === 'CORE_PEER_GONE'
    if (isLost && this.#mayHaveBegun) {
      this.#begun++
      this.#hosts.callLost(peer, this.site)
    }
    if (this.#isEnded) return
    const isRefused = this.#hosts.noteRefusal(peer, this.site, error)
    const mayRepeat = (isRefused && may.ifRefused) || (isLost && may.ifLost && this.#begun < MAX_BEGUN)
    if (!mayRepeat) {
      this.#end(error)
      return
    }
    const next = this.#hosts.connectedPeer(this.site)
    if (next === undefined) this.#wait()
    else if (performance.now() < this.deadlineAt) this.#again(next)
    else
      this.#end(
        new WorkerError('WORKER_NO_HOST', `every render host that was tried for ${this.site} disconnected`, { cause: error }),
      )
  }

  /** Nothing more is sent or reported. */
  cancel(): void {
    this.#isEnded = true
    this.#hosts.stopWaiting(this)
  }

  #wait(): void {
    this.#isWaiting = true
    this.#hosts.wait(this)
  }

  /** A host that has died may look connected for a moment: it has not begun until it says so. */
  #again(peer: HostPeer): void {
    this.#mayHaveBegun = false
    this.#call.send(peer, true)
  }

  #end(error: Error): void {
    if (this.#isEnded) return
    this.#isEnded = true
    this.#call.fail(error)
  }
}
