import { constants, type Http2Session, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2'
import type { TLSSocket } from 'node:tls'
import type { GateFault } from '../exchange/request-gate.ts'
import { fieldBytes, Http2Fields } from './field-sources.ts'
import { Http2Wire } from './http2-wire.ts'
import { NodeConnection } from './node-connection.ts'
import type { NodeContext } from './node-exchange.ts'
import { MAX_FIELDS, type NodeIntake, peerAddress, serverNameOf } from './node-intake.ts'

/** Pseudo-header fields of a request, which do not count as fields. */
const PSEUDO_FIELDS = 4
/** How long a connection may take to its first request. */
const FIRST_REQUEST_MS = 10_000
/** Limit of unread request bytes in flight, over all streams of a connection. */
const CONNECTION_WINDOW_BYTES = 1024 * 1024

/** One for all streams. */
const ignore = () => undefined

interface SessionState {
  readonly peer: string
  readonly serverName: string | undefined
  readonly facts: NodeConnection
  /** Requests whose responses have not left yet. */
  pending: number
  hasBegun: boolean
}

/** Takes the HTTP/2 requests of a listener. */
export class Http2Intake {
  readonly #intake: NodeIntake
  readonly #context: NodeContext
  readonly #fields = new Http2Fields()
  readonly #sessions = new Map<Http2Session, SessionState>()

  constructor(intake: NodeIntake, context: NodeContext) {
    this.#intake = intake
    this.#context = context
  }

  /** True while a connection is open. */
  get hasSessions(): boolean {
    return this.#sessions.size > 0
  }

  /** A connection has been opened. @param socket below the session */
  session(session: ServerHttp2Session, socket: TLSSocket): void {
    const facts = new NodeConnection(this.#context.numberConnection(), socket)
    const state = { peer: peerAddress(socket), serverName: serverNameOf(socket), facts, pending: 0, hasBegun: false }
    this.#sessions.set(session, state)
    // The connection is closed then; the reason is its client's fault and not reported.
    session.on('error', ignore)
    session.setLocalWindowSize(CONNECTION_WINDOW_BYTES)
    session.setTimeout(FIRST_REQUEST_MS)
    session.on('timeout', () => {
      // Requests have time limits of their own. Streams with unread leftovers may never close.
      if (state.pending === 0) session.destroy()
      else session.setTimeout(this.#context.limits().idleTimeoutMs)
    })
    this.#endTogether(session, socket)
    if (this.#context.isDraining) session.close()
  }

  /** A destroyed session waits until its client has taken all sent bytes, without a limit. */
  #endTogether(session: ServerHttp2Session, socket: TLSSocket): void {
    const timer = setInterval(() => {
      if (session.destroyed) socket.destroy()
    }, this.#context.limits().idleTimeoutMs).unref()
    socket.once('close', () => {
      clearInterval(timer)
      this.#sessions.delete(session)
    })
  }

  /** A request has come. @param raw names and values in turn */
  stream(stream: ServerHttp2Stream, flags: number, raw: readonly string[]): void {
    // The code with which the peer resets a stream shows when the stream closes.
    stream.on('error', ignore)
    const { session } = stream
    const state = session === undefined ? undefined : this.#sessions.get(session)
    if (session === undefined || state === undefined) {
      stream.close(constants.NGHTTP2_REFUSED_STREAM)
      return
    }
    const limits = this.#context.limits()
    if (!state.hasBegun) session.setTimeout(limits.idleTimeoutMs)
    state.hasBegun = true
    state.pending++
    state.facts.place++
    const { method, target } = this.#fields.set(raw)
    const isEnded = (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0
    const wire = new Http2Wire(stream, raw, state)
    this.#intake.take({
      method,
      target,
      fields: this.#fields,
      httpVersion: '2',
      peer: state.peer,
      serverName: state.serverName,
      connection: state.facts,
      wire,
      body: wire,
      hasBody: !isEnded,
      fault: faultOf(raw, limits.maxHeaderBytes),
      upgrade: undefined,
    })
  }

  /** Tells all clients to send no further requests; those in flight continue. */
  leave(): void {
    for (const session of this.#sessions.keys()) session.close()
  }
}

function faultOf(raw: readonly string[], maxHeaderBytes: number): GateFault | undefined {
  if (raw.length > 2 * (MAX_FIELDS + PSEUDO_FIELDS)) return { status: 431, code: 'too_many_fields' }
  return fieldBytes(raw) > maxHeaderBytes ? { status: 431, code: 'head_too_large' } : undefined
}
