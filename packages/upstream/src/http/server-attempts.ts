import type { Peer } from '../balance/peer.ts'
import type { PeerOutcome, UpstreamGroup } from '../balance/upstream-group.ts'
import { UpstreamError } from '../errors/errors.ts'
import type { OriginRequest } from '../origin/origin.ts'
import type { NextUpstream } from './origin-settings.ts'

/** Methods that are retried with another server only if that is allowed explicitly. */
const NOT_REPEATED: ReadonlySet<string> = new Set(['POST', 'LOCK', 'PATCH'])

const noPeers: readonly Peer[] = []

/** The servers that a request may be sent to. */
interface AttemptSettings {
  readonly group: UpstreamGroup
  /** When another server is tried. */
  readonly nextUpstream: NextUpstream
}

/** The servers of a group that one request is sent to: one after another, until one responds or no more may be tried. */
export class ServerAttempts {
  readonly #settings: AttemptSettings
  readonly #request: Pick<OriginRequest, 'method' | 'choiceKey'>
  /** True if the request may be sent once more although it may have had its effect. */
  readonly isRepeatable: boolean
  /** Milliseconds of the group's clock; 0 where no time counts. */
  readonly #startedAt: number
  #tried: readonly Peer[] = noPeers
  #current: Peer | undefined

  constructor(settings: AttemptSettings, request: Pick<OriginRequest, 'method' | 'choiceKey'>) {
    this.#settings = settings
    this.#request = request
    const { group, nextUpstream } = settings
    this.#startedAt = nextUpstream.limitMs === Number.POSITIVE_INFINITY ? 0 : group.now()
    this.isRepeatable = settings.nextUpstream.evenOnce || !NOT_REPEATED.has(request.method)
  }

  /** Whose turn it is; undefined: it has been released. */
  get current(): Peer | undefined {
    return this.#current
  }

  /**
   * The next server after this failure of the one before; an error says why there is none.
   * @param maySendAgain true if the request, as far as it was sent, may be sent to another
   */
  next(failure: UpstreamError | undefined, maySendAgain: boolean): Peer | UpstreamError {
    if (failure !== undefined) {
      this.release('failed')
      if (!maySendAgain || !this.#hasAnother || !this.#isSkipped(failure)) return failure
    }
    const { group } = this.#settings
    const peer = group.choose(this.#request.choiceKey ?? '', this.#tried)
    if (peer === undefined)
      return failure ?? new UpstreamError('UPSTREAM_NONE_LEFT', `no server of ${group.spec.name} is in service`)
    this.#current = peer
    this.#tried = this.#tried.length === 0 ? [peer] : [...this.#tried, peer]
    return peer
  }

  /** True if another server is to be tried in place of passing on a response with this status. If so, the turn has ended. */
  leaves(status: number, maySendAgain: boolean): boolean {
    if (!this.#settings.nextUpstream.onStatus.has(status) || !maySendAgain || !this.#hasAnother) return false
    this.release(status === 403 || status === 404 ? 'passed' : 'failed')
    return true
  }

  /** The request to the server whose turn it is has ended. Does nothing when it has been said already. */
  release(outcome: PeerOutcome): void {
    const peer = this.#current
    this.#current = undefined
    if (peer !== undefined) this.#settings.group.release(peer, outcome)
  }

  get #hasAnother(): boolean {
    const { group, nextUpstream } = this.#settings
    const { maxTries, limitMs } = nextUpstream
    if (this.#tried.length >= Math.min(group.size, maxTries)) return false
    return limitMs === Number.POSITIVE_INFINITY || group.now() - this.#startedAt < limitMs
  }

  #isSkipped({ code }: UpstreamError): boolean {
    const { onError, onTimeout, onBadAnswer } = this.#settings.nextUpstream
    if (code === 'UPSTREAM_TIMEOUT') return onTimeout
    return code === 'UPSTREAM_BAD_ANSWER' ? onBadAnswer : onError
  }
}
