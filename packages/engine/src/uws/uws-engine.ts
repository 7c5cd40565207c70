import uws from 'uWebSockets.js'
import { BodyBlocks, type BodyStore, type ListenAddress, type ListenerTls } from '@svc/http'
import { EngineError } from '../errors/errors.ts'
import { HeaderBlocks } from '../exchange/response-head.ts'
import type { Engine, EngineOptions } from '../listener/engine.ts'
import { ListeningEngine } from '../listener/listening-engine.ts'
import { isSameTls } from '../listener/server-names.ts'
import { CloseGuard } from './closing.ts'
import { fallbackOf, tryCertificate } from './sni-app.ts'
import { PeerAddresses, type UwsContext } from './uws-context.ts'
import { UwsListener } from './uws-listener.ts'

/**
 * Of so many answers without a body one waits a turn. The library keeps them for a client that reads nothing, and does not say so;
 * a request behind one that is pending closes the connection, and a client that sends far too many has one.
 */
const BODILESS_RUN = 32

/** The engine on uWebSockets.js: HTTP/1.1 over TCP. Rules and limits: docs/http-engine.md. */
class UwsEngine extends ListeningEngine<UwsListener, ListenerTls> implements UwsContext {
  readonly heads: HeaderBlocks
  readonly peers = new PeerAddresses()
  readonly closeGuard = new CloseGuard()
  readonly bodies: BodyStore
  lostBytes = 0
  #bodiless = 0

  constructor(options: EngineOptions) {
    super(options)
    this.heads = new HeaderBlocks((error) => this.problem(error))
    this.bodies = { blocks: new BodyBlocks(), dir: options.bodyDir }
    uws._cfg('silent')
  }

  mustWait(): boolean {
    this.#bodiless = (this.#bodiless + 1) % BODILESS_RUN
    return this.#bodiless === 0
  }

  prepareTls(name: string, tls: ListenerTls): () => void {
    const before = this.tls.get(name)
    if (isSameTls(before, tls)) return () => undefined
    fallbackOf(tls)
    if (tls.minVersion === '1.3') throw new EngineError('ENGINE_BAD_CERTIFICATE', `${name}: this engine cannot refuse TLS 1.2`)
    const known = new Set([...this.tls.values()].flatMap(({ certificates }) => certificates.map(({ id }) => id)))
    for (const certificate of tls.certificates) if (!known.has(certificate.id)) tryCertificate(name, certificate)
    return () => this.useTls(name, tls)
  }

  protected makeListener(
    { name }: ListenAddress,
    tls: ListenerTls | undefined,
    onConnections: (listener: UwsListener, change: number) => void,
  ): UwsListener {
    const listener = new UwsListener(name, tls, {
      options: this.options,
      context: this,
      onConnections: (change) => onConnections(listener, change),
      onLost: (bytes) => {
        this.lostBytes += bytes
      },
    })
    return listener
  }
}

/** Makes the engine on uWebSockets.js. It listens on nothing yet. */
export function createUwsEngine(options: EngineOptions): Engine {
  return new UwsEngine(options)
}
