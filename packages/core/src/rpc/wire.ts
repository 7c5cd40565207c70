import type { WireError } from '../errors/app-error.ts'
import { CoreError } from '../errors/errors.ts'

/** Which end of a call a chunk comes from. */
type Side = 'caller' | 'handler'

/** The head of every frame of the RPC, told apart by `t`. */
export type RpcFrame =
  /** hello: first frame of each side */
  | { readonly t: 'hello'; readonly v: number }
  /** request; `s` when chunks of the caller follow */
  | { readonly t: 'req'; readonly i: number; readonly m: string; readonly b: unknown; readonly s?: true }
  | { readonly t: 'res'; readonly i: number; readonly b: unknown }
  | { readonly t: 'err'; readonly i: number; readonly e: WireError }
  /** a chunk of the caller (`d` "caller") or of the handler */
  | { readonly t: 'chunk'; readonly i: number; readonly d: Side; readonly b?: unknown }
  /** the caller has sent its last chunk */
  | { readonly t: 'fin'; readonly i: number }
  /** `n` bytes of chunks of side `d` were consumed */
  | { readonly t: 'ack'; readonly i: number; readonly d: Side; readonly n: number }
  /** the caller aborted the call */
  | { readonly t: 'abort'; readonly i: number }
  /** the handler begins no request after number `i`; those up to it go on */
  | { readonly t: 'leave'; readonly i: number }
  /** a request that wants no reply */
  | { readonly t: 'note'; readonly m: string; readonly b: unknown }

/**
 * Checks the head of a received frame.
 * @throws CORE_PROTOCOL
 */
export function parseFrame(head: unknown): RpcFrame {
  if (typeof head !== 'object' || head === null || !('t' in head)) throw new CoreError('CORE_PROTOCOL', 'frame without a kind')
  const frame = head as RpcFrame
  switch (frame.t) {
    case 'hello':
      if (typeof frame.v === 'number') return frame
      break
    case 'note':
      if (typeof frame.m === 'string') return frame
      break
    case 'req':
      if (typeof frame.i === 'number' && typeof frame.m === 'string') return frame
      break
    case 'res':
    case 'err':
    case 'chunk':
    case 'fin':
    case 'ack':
    case 'abort':
    case 'leave':
      if (typeof frame.i === 'number') return frame
      break
  }
  throw new CoreError('CORE_PROTOCOL', `malformed frame of kind ${String((head as { t: unknown }).t)}`)
}
