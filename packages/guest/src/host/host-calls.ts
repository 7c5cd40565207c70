import { type Context, currentContext, runInContext } from '../context/context.ts'
import { jsonOf, OwnMap, parse } from '../context/primordials.ts'
import type { EmittedError, HostOperation } from '../contract/isolate.ts'
import { host } from './host.ts'

/** Takes the outcome of a host call, piece by piece; always in the context that asked. */
interface CallListener {
  onPiece(json: string, bytes: ArrayBuffer | undefined, isLast: boolean): void
  onError(error: EmittedError): void
}

interface PendingCall extends CallListener {
  readonly context: Context | undefined
}

const pending = new OwnMap<number, PendingCall>()
let lastId = 0

/** Asks the host for something. Returns the id of the call. */
export function callHost(
  operation: HostOperation,
  argument: object,
  bytes: ArrayBuffer | undefined,
  listener: CallListener,
): number {
  const id = ++lastId
  pending.set(id, { onPiece: listener.onPiece, onError: listener.onError, context: currentContext() })
  host().call(id, operation, jsonOf(argument), bytes)
  return id
}

/** Forgets a call: what still comes for it is dropped. */
export function forgetCall(id: number): void {
  pending.delete(id)
}

/** Tells the host something that it does not answer. */
export function tellHost(operation: HostOperation, argument: object): void {
  host().call(++lastId, operation, jsonOf(argument), undefined)
}

/** Asks the host for something that is answered in one piece, and returns its bytes. */
export function callHostOnce(
  operation: HostOperation,
  argument: object,
  bytes: ArrayBuffer | undefined,
): Promise<{ json: string; bytes: ArrayBuffer }> {
  return new Promise((resolve, reject) => {
    callHost(operation, argument, bytes, {
      onPiece: (json, answer) => resolve({ json, bytes: answer ?? new ArrayBuffer(0) }),
      onError: (error) => reject(Object.assign(new Error(error.message), { name: error.name })),
    })
  })
}

/** The host answers a call. */
export function settleCall(
  ...answer: [id: number, isOk: boolean, json: string, bytes: ArrayBuffer | undefined, isLast: boolean]
): void {
  const [id, isOk, json, bytes, isLast] = answer
  const call = pending.get(id)
  if (call === undefined) return
  if (!isOk || isLast) pending.delete(id)
  runInContext(call.context, () => {
    if (isOk) call.onPiece(json, bytes, isLast)
    else call.onError(parse(json) as EmittedError)
  })
}
