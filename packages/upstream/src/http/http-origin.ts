import type { ResponseSink } from '@svc/http'
import type { Origin, OriginRequest } from '../origin/origin.ts'
import { AnswerParser } from './answer-parser.ts'
import type { CallSettings } from './call-settings.ts'
import { HttpCall } from './http-call.ts'
import type { UpstreamProtocol } from './http-connections.ts'
import { LastPool } from './http-connections.ts'
import type { HttpOriginSettings } from './origin-settings.ts'
import { RepeatedHead } from './repeated-head.ts'
import { RequestHeads } from './request-head.ts'
import { RequestSender } from './request-sender.ts'

/** HTTP/1 on connections. */
const HTTP: UpstreamProtocol = {
  name: 'http',
  maxIdle: 64,
  // Servers that close idle connections do so after two seconds and more.
  trustedIdleMs: 1_000,
  makeReaders() {
    const repeated = new RepeatedHead()
    return (events) => new AnswerParser(events, repeated)
  },
}

/** Answers by asking a group of HTTP servers. */
export class HttpOrigin implements Origin {
  readonly settings: HttpOriginSettings
  readonly #call: CallSettings

  constructor(settings: HttpOriginSettings) {
    const { group, timeouts, nextUpstream, connections, tls } = settings
    const way = { tls, protocol: HTTP }
    const { host, httpVersion } = settings
    const keepsAlive = settings.keepsConnections && httpVersion === '1.1'
    const parts = { settings, heads: new RequestHeads({ httpVersion, keepsAlive, defaultHost: host }), keepsAlive }
    const pools = new LastPool((peer) => connections.pool(group, peer, way))
    this.settings = settings
    this.#call = {
      group,
      timeouts,
      nextUpstream,
      pool: (peer) => pools.of(peer),
      makeSender: (connection, _pool, onBodyFailed) => new RequestSender(parts, connection, onBodyFailed),
    }
  }

  fetch(request: OriginRequest, sink: ResponseSink): void {
    new HttpCall(this.#call, request, sink).start()
  }
}
