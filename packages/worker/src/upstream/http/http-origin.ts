import type { Origin, OriginHandle, OriginRequest, OriginSink } from '../origin.ts'
import { type AnswerReceiver, HttpCall } from './http-call.ts'
import type { HttpOriginSettings } from './origin-settings.ts'
import { OwningReceiver } from './owning-receiver.ts'

/** Answers by asking a group of HTTP servers. */
export class HttpOrigin implements Origin {
  readonly settings: HttpOriginSettings

  constructor(settings: HttpOriginSettings) {
    this.settings = settings
  }

  fetch(request: OriginRequest, sink: OriginSink): OriginHandle {
    const receiver = new OwningReceiver(sink)
    const call = new HttpCall(this.settings, request, receiver)
    receiver.attach(call)
    call.start()
    return call
  }

  /** The same for receivers that deal with the bytes of an answer at once, and say when they take no more. */
  send(request: OriginRequest, receiver: AnswerReceiver): HttpCall {
    return new HttpCall(this.settings, request, receiver)
  }
}
