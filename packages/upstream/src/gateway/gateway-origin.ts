import type { BodyStore, ResponseSink } from '@svc/http'
import type { UpstreamGroup, UpstreamSpec } from '../balance/upstream-group.ts'
import type { Gateway } from '../cgi/gateway.ts'
import { GatewaySender } from '../cgi/gateway-sender.ts'
import { PatientCall } from '../cgi/patient-call.ts'
import { RequestTexts } from '../cgi/request-texts.ts'
import type { CallSettings } from '../http/call-settings.ts'
import type { TlsTransport } from '../http/dial.ts'
import type { HttpConnections } from '../http/http-connections.ts'
import { LastPool } from '../http/http-connections.ts'
import type { NextUpstream, UpstreamTimeouts } from '../http/origin-settings.ts'
import type { Origin, OriginRequest } from '../origin/origin.ts'

/** How requests are sent to a group of CGI applications. */
interface GatewayOriginSettings {
  readonly gateway: Gateway
  readonly group: UpstreamGroup
  /** undefined: without TLS. */
  readonly tls: TlsTransport | undefined
  readonly connections: HttpConnections
  readonly timeouts: UpstreamTimeouts
  readonly nextUpstream: NextUpstream
  /** For bodies that wait for slow clients. */
  readonly bodies: BodyStore
}

/** Answers by asking a group of CGI applications. */
export class GatewayOrigin implements Origin {
  readonly group: UpstreamSpec
  readonly #call: CallSettings
  readonly #bodies: BodyStore

  constructor({ gateway, group, tls, connections, timeouts, nextUpstream, bodies }: GatewayOriginSettings) {
    const way = { tls, protocol: gateway.protocol }
    const pools = new LastPool((peer) => connections.pool(group, peer, way))
    const texts = new RequestTexts(gateway)
    this.group = group.spec
    this.#bodies = bodies
    this.#call = {
      group,
      timeouts,
      nextUpstream,
      pool: (peer) => pools.of(peer),
      makeSender(connection, { keepsConnections }, onBodyFailed) {
        return new GatewaySender({ gateway, texts, connection, keepsConnection: keepsConnections, timeouts, onBodyFailed })
      },
    }
  }

  fetch(request: OriginRequest, sink: ResponseSink): void {
    new PatientCall(this.#call, request, sink, this.#bodies).start()
  }
}
