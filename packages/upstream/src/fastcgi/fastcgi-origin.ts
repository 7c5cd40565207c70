import type { UpstreamGroup } from '../balance/upstream-group.ts'
import type { CallSettings } from '../http/call-settings.ts'
import { fetchByCall } from '../http/fetch-by-call.ts'
import type { AnswerReceiver } from '../http/http-call.ts'
import type { HttpConnections, UpstreamProtocol } from '../http/http-connections.ts'
import { LastPool } from '../http/last-pool.ts'
import type { NextUpstream, UpstreamTimeouts } from '../http/origin-settings.ts'
import { RepeatedHead } from '../http/repeated-head.ts'
import type { Origin, OriginHandle, OriginRequest, OriginSink } from '../origin/origin.ts'
import { FastcgiReader } from './fastcgi-reader.ts'
import { PatientCall, type WaitingPlace } from './patient-call.ts'
import { RequestTexts } from './request-params.ts'
import { FastcgiSender } from './request-sender.ts'
import { SpooledFetch } from './spooled-fetch.ts'

/**
 * FastCGI on connections. An idle connection keeps a process of PHP from every other worker, so that none is kept where
 * `keepalive` does not say so.
 */
const FASTCGI: UpstreamProtocol = {
  name: 'fastcgi',
  maxIdle: 0,
  // Applications do not close idle connections.
  trustedIdleMs: Number.POSITIVE_INFINITY,
  makeReaders() {
    const repeated = new RepeatedHead()
    return (events) => new FastcgiReader(events, repeated)
  },
}

/** How requests are sent to a group of FastCGI applications. */
interface FastcgiOriginSettings {
  readonly group: UpstreamGroup
  readonly connections: HttpConnections
  readonly timeouts: UpstreamTimeouts
  readonly nextUpstream: NextUpstream
  readonly place: WaitingPlace
}

/** Answers by asking a group of FastCGI applications. */
export class FastcgiOrigin implements Origin {
  /** Names the group. */
  readonly name: string
  readonly #call: CallSettings
  readonly #place: WaitingPlace

  constructor({ group, connections, timeouts, nextUpstream, place }: FastcgiOriginSettings) {
    const way = { tls: undefined, protocol: FASTCGI }
    const pools = new LastPool((peer) => connections.pool(group, peer, way))
    const texts = new RequestTexts()
    this.name = group.spec.name
    this.#place = place
    this.#call = {
      group,
      timeouts,
      nextUpstream,
      pool: (peer) => pools.of(peer),
      makeSender(connection, { keepsConnections }, onBodyFailed) {
        return new FastcgiSender({ texts, connection, keepsConnection: keepsConnections, timeouts, onBodyFailed })
      },
    }
  }

  /**
   * A body is taken in first: applications are told its length before it comes, and a client that is slow would hold a process for so
   * long, of which there are few.
   */
  fetch(request: OriginRequest, sink: OriginSink): OriginHandle {
    const { body } = request
    if (body?.isPresent !== true) return this.#fetch(request, sink)
    const fetching = new SpooledFetch(sink, (spooled, to) => this.#fetch({ ...request, body: spooled }, to))
    fetching.start(body, this.#place.dir)
    return fetching
  }

  /** The same for receivers that deal with bytes at once. Only for requests without a body. */
  send(request: OriginRequest, receiver: AnswerReceiver): PatientCall {
    return new PatientCall(this.#call, request, receiver, this.#place)
  }

  #fetch(request: OriginRequest, sink: OriginSink): OriginHandle {
    return fetchByCall((receiver) => this.send(request, receiver), sink)
  }
}
