import type { HeaderList } from '@svc/http'

const text = [['Content-Type', 'text/plain; charset=utf-8']] as const
const wrongVersion = [...text, ['Sec-WebSocket-Version', '13']] as const

/** The fields of an answer that an engine gives by itself. */
export function refusalFields(status: number): HeaderList {
  // RFC 6455 section 4.4: which version would be understood.
  return status === 426 ? wrongVersion : text
}
