import { guardResponse, type ResponseHead } from '@svc/http'
import { EngineError } from '../errors/errors.ts'

/** Makes a head safe to write. @param onProblem told of each field that is dropped because it may not be written */
export function safeHead(head: ResponseHead, onProblem: (error: Error) => void): ResponseHead {
  return guardResponse(head, (name, reason) => {
    onProblem(new EngineError('ENGINE_FIELD_DROPPED', `response field ${JSON.stringify(name)} was dropped: ${reason}`))
  })
}
