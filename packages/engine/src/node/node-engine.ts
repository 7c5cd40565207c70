import type { ListenAddress, ListenerTls } from '@svc/http'
import type { Engine, EngineOptions } from '../listener/engine.ts'
import { ListeningEngine } from '../listener/listening-engine.ts'
import type { NodeContext } from './node-exchange.ts'
import { NodeHeads } from './node-head.ts'
import { NodeListener } from './node-listener.ts'
import { TlsContexts } from './tls-contexts.ts'
import { WebSocketHub } from './web-socket-hub.ts'

/** The engine on node:http and node:http2. Rules and limits: docs/http-engine.md. */
class NodeEngine extends ListeningEngine<NodeListener, TlsContexts> implements NodeContext {
  readonly heads: NodeHeads
  readonly webSockets: WebSocketHub
  #connections = 0

  constructor(options: EngineOptions) {
    super(options)
    this.heads = new NodeHeads((error) => this.problem(error))
    this.webSockets = new WebSocketHub((error) => this.problem(error))
  }

  get lostBytes(): number {
    return 0
  }

  numberConnection(): number {
    this.#connections++
    return this.#connections
  }

  prepareTls(name: string, tls: ListenerTls): () => void {
    const before = this.tls.get(name)
    if (before?.isFor(tls) === true) return () => undefined
    const contexts = new TlsContexts(name, tls, before)
    return () => this.useTls(name, contexts)
  }

  override cut(): void {
    // Exchanges in flight learn of it now, not when their connections have closed.
    this.exchanges.cutAll()
    super.cut()
  }

  protected makeListener(
    address: ListenAddress,
    tls: TlsContexts | undefined,
    onConnections: (listener: NodeListener, change: number) => void,
  ): NodeListener {
    const listener = new NodeListener(address, tls, {
      options: this.options,
      context: this,
      onConnections: (change) => onConnections(listener, change),
    })
    return listener
  }

  protected override emptied(listener: NodeListener): void {
    listener.close()
  }

  protected override leave(): void {
    super.leave()
    this.webSockets.leave()
  }
}

/** Makes the engine on node:http and node:http2. It listens on nothing yet. */
export function createNodeEngine(options: EngineOptions): Engine {
  return new NodeEngine(options)
}
