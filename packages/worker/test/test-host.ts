import { createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { type CallContext, createSocketChannel, type ReplyWithBytes, RpcPeer } from '@svc/core'
import {
  type HostEndpoint,
  PROTOCOL_VERSION,
  type RenderProgress,
  type RenderReply,
  type RenderRequest,
  renderClientMethods,
  renderMethods,
} from '@svc/protocol'
import type { Cleanup } from '@svc/testkit'

type Answer = RenderReply | ReplyWithBytes<RenderReply>

/** Tells the worker how far a call is. */
export function report(call: CallContext, progress: RenderProgress['progress']): void {
  call.send({ progress })
}

/** A render host in this process, on a real unix socket, whose answers a test decides. */
export class TestHost {
  readonly endpoint: HostEndpoint
  readonly renders: RenderRequest[] = []
  /** True if renders begin at once; else a test reports it. */
  begins = true
  /** Connections so far. */
  connections = 0
  render: (request: RenderRequest, call: CallContext) => Answer | Promise<Answer> = () => {
    throw new Error('no render was expected')
  }
  describe: () => { manifest: unknown } | Promise<{ manifest: unknown }> = () => ({ manifest: {} })
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  readonly #peers: RpcPeer<typeof renderMethods, typeof renderClientMethods>[] = []

  private constructor(endpoint: HostEndpoint) {
    this.endpoint = endpoint
    this.#server = createServer((socket) => this.#accept(socket))
  }

  /** Listens on a socket of its own below `dir`. */
  static async start(t: Cleanup, dir: string, id: string, sites: HostEndpoint['sites'] = '*'): Promise<TestHost> {
    const host = new TestHost({ id, socket: join(dir, `${id}.sock`), token: `token of ${id}`, sites })
    await new Promise<void>((resolve) => host.#server.listen(host.endpoint.socket, resolve))
    t.after(() => host.die())
    return host
  }

  /** Ends as a process that is killed: every connection breaks, the socket refuses. */
  die(): void {
    this.#server.close()
    this.breakConnections()
  }

  /** Begins no more calls, as a host that drains. */
  leave(): void {
    for (const peer of this.#peers) peer.leave()
  }

  /** Breaks every connection and goes on listening. */
  breakConnections(): void {
    for (const socket of this.#sockets) socket.destroy()
    this.#sockets.clear()
  }

  get openConnections(): number {
    return this.#sockets.size
  }

  #accept(socket: Socket): void {
    this.connections++
    this.#sockets.add(socket)
    socket.on('close', () => this.#sockets.delete(socket))
    const peer = new RpcPeer({
      channel: createSocketChannel(socket),
      local: renderMethods,
      handlers: {
        hello: ({ token }) => {
          if (token !== this.endpoint.token) throw new Error('wrong token')
          return { host: this.endpoint.id }
        },
        describe: ({ reportsStart }, call) => {
          if (reportsStart === true) report(call, 'begun')
          return this.describe()
        },
        render: (request, call) => {
          this.renders.push(request)
          const { reportsStart } = request
          if (this.begins && call.hasChunks) report(call, 'wants-body')
          else if (this.begins && reportsStart === true) report(call, 'begun')
          return this.render(request, call)
        },
      },
      remote: renderClientMethods,
      protocolVersion: PROTOCOL_VERSION,
      peerName: 'worker',
      onProblem: (error) => console.error(error),
    })
    this.#peers.push(peer)
  }
}
