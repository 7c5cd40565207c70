import { asError, type Clock, codeOf, connectSocketChannel, type Handlers, messageOf, RpcPeer } from '@svc/core'
import { SupervisorError } from '@svc/processes'
import { PRODUCT_VERSION, PROTOCOL_VERSION, unitMethods, unitParentMethods } from '@svc/protocol'
import type { Logger } from '@svc/telemetry'

/** RPC peer of the master. */
type MasterPeer = RpcPeer<typeof unitMethods, typeof unitParentMethods>

/** Options of a `MasterLink`. */
interface MasterLinkOptions {
  readonly socket: string
  readonly site: string
  /** Read for each connection: a master that has lost the old token makes another. */
  readonly token: () => Promise<string>
  readonly handlers: Handlers<typeof unitMethods>
  /** The connection has ended. */
  readonly onLost: () => void
  readonly clock: Clock
  readonly logger: Logger
}

const FIRST_WAIT_MS = 50
const MAX_WAIT_MS = 1_000
/** Pause after a refusal until the next attempt: a reload may have given the site a process of its own. */
const REFUSED_WAIT_MS = 5_000
const HELLO_TIMEOUT_MS = 10_000

/** Keeps a connection to the master, and connects again after each loss until `close`. */
export class MasterLink {
  readonly #options: MasterLinkOptions
  readonly #closed = Promise.withResolvers<void>()
  #peer: MasterPeer | undefined
  #running: Promise<void> | undefined
  #isClosed = false
  /** True if on the last connection the unit had already followed the server. */
  #hasFollowed = false
  /** The last logged problem: a server that is down for a night must not log a line each second. */
  #complaint = ''

  constructor(options: MasterLinkOptions) {
    this.#options = options
  }

  start(): void {
    this.#running ??= this.#run()
  }

  /** @throws SUP_NO_SERVER while there is no connection */
  require(): MasterPeer {
    if (this.#peer !== undefined && !this.#peer.isClosed) return this.#peer
    throw new SupervisorError('SUP_NO_SERVER', 'not connected to the server at the moment')
  }

  get isUp(): boolean {
    return this.#peer?.isClosed === false
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#peer?.close()
    this.#closed.resolve()
    await this.#running
  }

  async #run(): Promise<void> {
    let waitMs = FIRST_WAIT_MS
    while (!this.#isClosed) {
      const outcome = await this.#connect()
      if (outcome === 'ended' && this.#hasFollowed) waitMs = FIRST_WAIT_MS
      else if (outcome === 'refused') waitMs = REFUSED_WAIT_MS
      else waitMs = Math.min(MAX_WAIT_MS, waitMs * 2)
      await this.#pause(waitMs)
    }
  }

  async #pause(waitMs: number): Promise<void> {
    const over = Promise.withResolvers<void>()
    const cancel = this.#options.clock.after(waitMs, () => over.resolve())
    await Promise.race([over.promise, this.#closed.promise])
    cancel()
  }

  /** Runs one connection from start to end. Never rejects. */
  async #connect(): Promise<'ended' | 'failed' | 'refused'> {
    const { socket, site, token, handlers, onLost, logger } = this.#options
    let problem: Error | undefined
    this.#hasFollowed = false
    try {
      const connecting = connectSocketChannel(socket)
      await connecting.connected
      const peer: MasterPeer = new RpcPeer({
        channel: connecting.channel,
        local: unitMethods,
        handlers: { ...handlers, attach: (request, context) => this.#attach(request, context) },
        remote: unitParentMethods,
        protocolVersion: PROTOCOL_VERSION,
        peerName: 'the server',
        onProblem: (error) => {
          problem = error
        },
      })
      this.#peer = peer
      if (this.#isClosed) peer.close()
      const introduction = { site, token: await token(), pid: process.pid, version: PRODUCT_VERSION }
      await peer.call('hello', introduction, { timeoutMs: HELLO_TIMEOUT_MS })
      this.#complaint = ''
      logger.info('connected to the server')
      await peer.closed
      onLost()
      if (!this.#isClosed)
        logger.warn({ err: problem }, 'lost the connection to the server; the site is rendered again when it is back')
      return 'ended'
    } catch (error) {
      this.#peer?.close()
      this.#complain(problem ?? asError(error))
      return ['SUP_UNKNOWN_SITE', 'SUP_UNIT_REFUSED', 'CORE_PROTOCOL'].includes(codeOf(problem ?? error) ?? '')
        ? 'refused'
        : 'failed'
    }
  }

  readonly #attach: Handlers<typeof unitMethods>['attach'] = async (request, context) => {
    const reply = await this.#options.handlers.attach(request, context)
    this.#hasFollowed = true
    return reply
  }

  #complain(error: Error): void {
    const message = messageOf(error)
    if (this.#isClosed || message === this.#complaint) return
    this.#complaint = message
    const advice =
      codeOf(error) === 'CORE_PROTOCOL'
        ? 'the server has another version than this unit: restart the unit, and the server if it is the older one'
        : 'the server is unreachable; retrying'
    this.#options.logger.warn({ err: error }, advice)
  }
}
