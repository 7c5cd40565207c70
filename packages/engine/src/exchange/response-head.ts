import type { HeaderList } from '@svc/http'
import { guardResponse, type ResponseHead } from '@svc/http'
import { EngineError } from '../errors/errors.ts'

/** Makes a head safe to write. @param onProblem called for each field that is dropped because it may not be written */
export function safeHead(head: ResponseHead, onProblem: (error: Error) => void): ResponseHead {
  return guardResponse(head, (name, reason) => {
    onProblem(new EngineError('ENGINE_FIELD_DROPPED', `response field ${JSON.stringify(name)} was dropped: ${reason}`))
  })
}

const text = [['Content-Type', 'text/plain; charset=utf-8']] as const
const wrongVersion = [...text, ['Sec-WebSocket-Version', '13']] as const

/** The fields of a response that an engine gives by itself. */
export function refusalFields(status: number): HeaderList {
  // RFC 6455 section 4.4: which version would be understood.
  return status === 426 ? wrongVersion : text
}

/** True if a text is plain ASCII, so that its UTF-8 and latin-1 bytes are the same. */
export function isAscii(text: string): boolean {
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) > 0x7f) return false
  return true
}
