import type { Channel, Frame } from '../channel/channel.ts'
import { asError, fromWire, toWire } from '../errors/app-error.ts'
import { CoreError } from '../errors/errors.ts'
import { TransientMap } from '../values/transient-map.ts'
import { IncomingCall } from './incoming-call.ts'
import { type Handlers, type MethodTable, type ReplyOf, ReplyWithBytes, type RequestOf } from './methods.ts'
import { type CallOptions, type CallPort, OutgoingCall, type RpcCall } from './outgoing-call.ts'
import { parseFrame, type RpcFrame } from './wire.ts'

/** Settings of a peer. */
interface RpcPeerOptions<Local extends MethodTable, Remote extends MethodTable> {
  readonly channel: Channel
  /** Methods that the other side may call here. */
  readonly local: Local
  /** A function is called once with the new peer, before any frame arrives: for handlers whose objects call the other side. */
  readonly handlers: Handlers<Local> | ((peer: RpcPeer<Local, Remote>) => Handlers<Local>)
  /** Methods that this side may call there. */
  readonly remote: Remote
  /** Both sides must state the same number in their first frame. */
  readonly protocolVersion: number
  /** Names the other side in errors. */
  readonly peerName: string
  /** Told of frames that break the protocol and of notification handlers that throw. */
  readonly onProblem: (error: Error) => void
}

/**
 * One end of a typed RPC over a channel: requests with replies, chunks in both directions with flow control, deadlines,
 * aborts and notifications. Every pending call is settled when the channel ends.
 */
export class RpcPeer<Local extends MethodTable, Remote extends MethodTable> {
  readonly #options: RpcPeerOptions<Local, Remote>
  readonly #channel: Channel
  readonly #handlers: Handlers<Local>
  readonly #outgoing = new TransientMap<number, OutgoingCall>()
  readonly #incoming = new TransientMap<number, IncomingCall>()
  readonly #closed = Promise.withResolvers<Error | undefined>()
  /** One for all calls. */
  readonly #port: CallPort = {
    send: (frame, bytes) => {
      if (!this.#isClosed) this.#send(frame, bytes)
    },
    forget: (id) => {
      if (this.#outgoing.delete(id)) this.#send({ t: 'abort', i: id })
    },
  }
  #nextId = 1
  /** Number of the last request of the other side. */
  #lastRequest = 0
  /** True if this side begins no more requests. */
  #isLeaving = false
  /** True if the other side begins no more requests. */
  #isLeft = false
  #isClosed = false
  #isGreeted = false

  constructor(options: RpcPeerOptions<Local, Remote>) {
    this.#options = options
    this.#channel = options.channel
    this.#handlers = typeof options.handlers === 'function' ? options.handlers(this) : options.handlers
    this.#channel.onClosed((reason) => this.#end(reason))
    this.#send({ t: 'hello', v: options.protocolVersion })
    this.#channel.onFrame((frame) => this.#receive(frame))
  }

  /** Resolves when the channel has ended, with the reason where there was one. */
  get closed(): Promise<Error | undefined> {
    return this.#closed.promise
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** Calls made by this side that have no reply yet. */
  get pendingCalls(): number {
    return this.#outgoing.size
  }

  /** Calls a method and waits for its reply, without chunks. */
  async call<Name extends keyof Remote & string>(
    name: Name,
    request: RequestOf<Remote[Name]>,
    options: CallOptions,
  ): Promise<ReplyOf<Remote[Name]>> {
    return (await this.open(name, request, options).reply).body
  }

  /** Calls a method and gives access to chunks, bytes and abort. */
  open<Name extends keyof Remote & string>(
    name: Name,
    request: RequestOf<Remote[Name]>,
    options: CallOptions,
  ): RpcCall<ReplyOf<Remote[Name]>> {
    const id = this.#nextId++
    const call = new OutgoingCall(this.#port, id, name, options)
    if (this.#isClosed) call.fail(this.#gone())
    else if (this.#isLeft) call.fail(this.#notBegun())
    else {
      this.#outgoing.set(id, call)
      const frame: RpcFrame = { t: 'req', i: id, m: name, b: request }
      this.#send(options.hasChunks === true ? { ...frame, s: true } : frame, options.bytes)
    }
    return call as RpcCall<ReplyOf<Remote[Name]>>
  }

  /** Sends a request that wants no reply. */
  notify<Name extends keyof Remote & string>(name: Name, request: RequestOf<Remote[Name]>): void {
    this.#send({ t: 'note', m: name, b: request })
  }

  /**
   * Begins no more requests of the other side, whose later calls and calls on their way reject with CORE_PEER_LEAVING. Requests that have
   * begun go on. Idempotent.
   */
  leave(): void {
    if (this.#isLeaving) return
    this.#isLeaving = true
    this.#send({ t: 'leave', i: this.#lastRequest })
  }

  /** Ends the channel; pending calls reject with CORE_PEER_GONE. Idempotent. */
  close(): void {
    this.#channel.close()
    this.#end(undefined)
  }

  #send(frame: RpcFrame, bytes?: Uint8Array | string): void {
    this.#channel.send(frame, bytes)
  }

  #gone(reason?: Error): CoreError {
    return new CoreError('CORE_PEER_GONE', `${this.#options.peerName} is gone`, reason === undefined ? {} : { cause: reason })
  }

  #notBegun(): CoreError {
    return new CoreError('CORE_PEER_LEAVING', `${this.#options.peerName} is shutting down`)
  }

  #otherLeaves(lastRequest: number): void {
    this.#isLeft = true
    for (const id of this.#outgoing.keys()) if (id > lastRequest) this.#outgoing.take(id)?.fail(this.#notBegun())
  }

  #end(reason: Error | undefined): void {
    if (this.#isClosed) return
    this.#isClosed = true
    for (const call of this.#outgoing.values()) call.fail(this.#gone(reason))
    for (const call of this.#incoming.values()) call.aborted()
    this.#outgoing.clear()
    this.#incoming.clear()
    this.#closed.resolve(reason)
  }

  #receive({ head, bytes, isLent = false }: Frame): void {
    try {
      const frame = parseFrame(head)
      if (frame.t === 'hello') this.#greet(frame.v)
      else if (!this.#isGreeted) throw new CoreError('CORE_PROTOCOL', `${this.#options.peerName} sent ${frame.t} before hello`)
      else if (frame.t === 'res') this.#replied(frame, bytes, isLent)
      else if (frame.t === 'chunk' && frame.d === 'handler') this.#outgoing.get(frame.i)?.chunkArrived(frame.b, bytes)
      else this.#dispatch(frame, isLent && bytes !== undefined ? Buffer.from(bytes) : bytes)
    } catch (error) {
      this.#options.onProblem(asError(error))
      this.close()
    }
  }

  #greet(version: number): void {
    const own = this.#options.protocolVersion
    if (version !== own) {
      throw new CoreError('CORE_PROTOCOL', `${this.#options.peerName} speaks protocol ${version}, this side ${own}`)
    }
    this.#isGreeted = true
  }

  #dispatch(frame: Exclude<RpcFrame, { t: 'hello' | 'res' }>, bytes: Uint8Array | undefined): void {
    switch (frame.t) {
      case 'req':
        this.#requested(frame, bytes)
        break
      case 'note':
        this.#notified(frame.m, frame.b)
        break
      case 'err':
        this.#outgoing.take(frame.i)?.fail(fromWire(frame.e))
        break
      case 'chunk':
        this.#incoming.get(frame.i)?.chunkArrived(bytes ?? new Uint8Array(0))
        break
      case 'fin':
        this.#incoming.get(frame.i)?.ended()
        break
      case 'ack':
        if (frame.d === 'handler') this.#incoming.get(frame.i)?.acknowledged(frame.n)
        else this.#outgoing.get(frame.i)?.acknowledged(frame.n)
        break
      case 'abort':
        this.#incoming.take(frame.i)?.aborted()
        break
      case 'leave':
        this.#otherLeaves(frame.i)
        break
    }
  }

  #requested(frame: Extract<RpcFrame, { t: 'req' }>, bytes: Uint8Array | undefined): void {
    if (this.#isLeaving) return
    this.#lastRequest = frame.i
    const definition = this.#options.local[frame.m]
    const handler = this.#handlers[frame.m]
    const call = new IncomingCall(this.#channel, frame, bytes)
    this.#incoming.set(frame.i, call)
    if (definition === undefined || handler === undefined) {
      this.#refuse(frame.i, new CoreError('CORE_NO_METHOD', `no method ${frame.m}`))
      return
    }
    try {
      const result = handler(definition.request(frame.b, frame.m) as never, call)
      if (result instanceof Promise) {
        result.then(
          (value) => this.#answer(frame.i, value),
          (error) => this.#refuse(frame.i, error),
        )
      } else this.#answer(frame.i, result)
    } catch (error) {
      this.#refuse(frame.i, error)
    }
  }

  #answer(id: number, result: unknown): void {
    if (!this.#incoming.delete(id)) return
    if (result instanceof ReplyWithBytes) this.#send({ t: 'res', i: id, b: result.body }, result.bytes)
    else this.#send({ t: 'res', i: id, b: result })
  }

  #refuse(id: number, error: unknown): void {
    if (this.#incoming.delete(id)) this.#send({ t: 'err', i: id, e: toWire(error) })
  }

  #notified(name: string, body: unknown): void {
    const definition = this.#options.local[name]
    const handler = this.#handlers[name]
    if (definition === undefined || handler === undefined) throw new CoreError('CORE_NO_METHOD', `no method ${name}`)
    const context = new IncomingCall(this.#channel, { t: 'req', i: 0, m: name, b: body }, undefined)
    const report = (error: unknown) => this.#options.onProblem(asError(error))
    const request = definition.request(body, name) as never
    const handle = async () => handler(request, context)
    handle().catch(report)
  }

  #replied(frame: Extract<RpcFrame, { t: 'res' }>, bytes: Uint8Array | undefined, isLent: boolean): void {
    const call = this.#outgoing.take(frame.i)
    if (call === undefined) return
    try {
      const body = this.#options.remote[call.method]?.reply(frame.b, `reply to ${call.method}`)
      if (call.onReply === undefined) call.succeed({ body, bytes: isLent && bytes !== undefined ? Buffer.from(bytes) : bytes })
      else {
        call.succeed({ body, bytes: undefined })
        call.onReply(body, bytes)
      }
    } catch (error) {
      call.fail(asError(error))
      throw error
    }
  }
}
