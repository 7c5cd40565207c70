import type { Origin, OriginHandle, OriginRequest } from '@svc/upstream'
import type { LocationVisit } from '../vhost/content.ts'
import { ReceiverSink } from './receiver-sink.ts'
import { type FieldFilter, VisitAnswer } from './visit-answer.ts'

/** Answers a visit with what an origin says to a request. */
export function answerVisit(visit: LocationVisit, origin: Origin, request: OriginRequest, filter: FieldFilter): void {
  const answer = new VisitAnswer(visit, filter)
  const sink = new ReceiverSink(answer)
  let handle: OriginHandle | undefined
  let isAborted = false
  answer.attach({
    resume: () => sink.resume(),
    abort() {
      isAborted = true
      handle?.abort()
    },
  })
  handle = origin.fetch(request, sink)
  // An answer that came at once may have given it up already.
  if (isAborted) handle.abort()
}
