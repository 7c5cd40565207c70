import type { OriginHandle, OriginRequest, OriginSink } from '../origin.ts'
import type { CallSettings } from './call-settings.ts'
import { HttpCall } from './http-call.ts'
import { OwningReceiver } from './owning-receiver.ts'

/** Sends a request, and hands the answer to a sink. */
export function fetchByCall(settings: CallSettings, request: OriginRequest, sink: OriginSink): OriginHandle {
  const receiver = new OwningReceiver(sink)
  const call = new HttpCall(settings, request, receiver)
  receiver.attach(call)
  call.start()
  return call
}
