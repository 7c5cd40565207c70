import type { BodyWriter } from '@svc/http'

/** Takes a body that is not sent: for HEAD, 204, 304, and clients that are gone. */
export const discardingWriter: BodyWriter = Object.freeze({
  write: () => true,
  onDrain: () => undefined,
  end: () => undefined,
  abort: () => undefined,
})
