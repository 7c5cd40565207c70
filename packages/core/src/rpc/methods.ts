import type { Guard } from '../values/guard.ts'

/** One method of a boundary: how its request and reply are checked on receipt. */
interface Method<Request, Reply> {
  readonly request: Guard<Request>
  readonly reply: Guard<Reply>
}

/** All methods that one side of a boundary answers. */
export type MethodTable = Readonly<Record<string, Method<unknown, unknown>>>

export type RequestOf<M> = M extends Method<infer Request, unknown> ? Request : never
export type ReplyOf<M> = M extends Method<unknown, infer Reply> ? Reply : never

/** Declares a method with its guards. */
export function method<Request, Reply>(request: Guard<Request>, reply: Guard<Reply>): Method<Request, Reply> {
  return { request, reply }
}

/** Arguments of a handler besides the request. */
export interface CallContext {
  /** Bytes that came with the request. */
  readonly bytes: Uint8Array | undefined
  /** True if the caller sends chunks after the request. */
  readonly hasChunks: boolean
  /** Receives the caller's chunks; `ack` must be called when the chunk has been dealt with, to let more come. */
  onChunk(listener: (bytes: Uint8Array, ack: () => void) => void): void
  /** Called when the caller has sent its last chunk. */
  onEnd(listener: () => void): void
  /** Called when the caller has aborted the call or is gone. */
  onAbort(listener: () => void): void
  readonly isAborted: boolean
  /** Sends a chunk ahead of the reply; a string in UTF-8. False: wait for `drained` before sending more. */
  send(body: unknown, bytes?: Uint8Array | string): boolean
  /** Resolves when more may be sent; rejects with CORE_ABORTED when the caller is gone. */
  drained(): Promise<void>
}

/** A reply with bytes beside its plain data. */
export class ReplyWithBytes<Reply> {
  readonly body: Reply
  /** A string is sent in UTF-8. */
  readonly bytes: Uint8Array | string

  constructor(body: Reply, bytes: Uint8Array | string) {
    this.body = body
    this.bytes = bytes
  }
}

type Answer<Reply> = Reply | ReplyWithBytes<Reply>

/** The functions behind a method table. A throw is sent to the caller as it is. */
export type Handlers<Table extends MethodTable> = {
  readonly [Name in keyof Table]: (
    request: RequestOf<Table[Name]>,
    context: CallContext,
  ) => Answer<ReplyOf<Table[Name]>> | Promise<Answer<ReplyOf<Table[Name]>>>
}
