import type { OriginHandle, OriginSink } from '../origin/origin.ts'
import type { AnswerReceiver } from './http-call.ts'
import { OwningReceiver } from './owning-receiver.ts'

/** A request to be sent. */
interface Call extends OriginHandle {
  start(): void
  /** The receiver takes more again. */
  resume(): void
}

/** Sends a request whose call is made with the receiver of its answer, and hands the answer to a sink. */
export function fetchByCall(makeCall: (receiver: AnswerReceiver) => Call, sink: OriginSink): OriginHandle {
  const receiver = new OwningReceiver(sink)
  const call = makeCall(receiver)
  receiver.attach(call)
  call.start()
  return call
}
