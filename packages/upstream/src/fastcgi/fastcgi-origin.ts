import type { BodyStore, ResponseSink } from '@svc/http'
import type { UpstreamGroup } from '../balance/upstream-group.ts'
import type { CallSettings } from '../http/call-settings.ts'
import type { HttpConnections, UpstreamProtocol } from '../http/http-connections.ts'
import { LastPool } from '../http/http-connections.ts'
import type { NextUpstream, UpstreamTimeouts } from '../http/origin-settings.ts'
import { RepeatedHead } from '../http/repeated-head.ts'
import type { Origin, OriginRequest } from '../origin/origin.ts'
import { FastcgiReader } from './fastcgi-reader.ts'
import { PatientCall } from './patient-call.ts'
import { RequestTexts } from './request-params.ts'
import { FastcgiSender } from './request-sender.ts'

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
  /** For bodies that wait for slow clients. */
  readonly bodies: BodyStore
}

/** Answers by asking a group of FastCGI applications. */
export class FastcgiOrigin implements Origin {
  /** Names the group. */
  readonly name: string
  readonly #call: CallSettings
  readonly #bodies: BodyStore

  constructor({ group, connections, timeouts, nextUpstream, bodies }: FastcgiOriginSettings) {
    const way = { tls: undefined, protocol: FASTCGI }
    const pools = new LastPool((peer) => connections.pool(group, peer, way))
    const texts = new RequestTexts()
    this.name = group.spec.name
    this.#bodies = bodies
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

  fetch(request: OriginRequest, sink: ResponseSink): void {
    new PatientCall(this.#call, request, sink, this.#bodies).start()
  }
}
