/** Longest message that is taken; a longer one ends its connection (1009 where it can be told). */
export const MAX_MESSAGE_BYTES = 16 * 1024 * 1024
/** Bytes waiting for a slow reader past which its sender is told to wait. */
export const SEND_HIGH_WATER_BYTES = 256 * 1024
/** Bytes waiting for a slow reader past which the connection is cut: the sender has not waited. */
export const MAX_BUFFERED_BYTES = 64 * 1024 * 1024
/** Bytes of messages that are not acknowledged past which no more are read. */
export const RECEIVE_HIGH_WATER_BYTES = 1024 * 1024
/** The same for an engine that cannot stop reading: past it the connection is closed (1013). */
export const MAX_UNACKED_BYTES = 64 * 1024 * 1024
/** Counted for each message besides its length, so that empty ones count too. */
export const MESSAGE_OVERHEAD_BYTES = 256
/** A connection from which nothing has come for so long, not even the answer to a ping, is cut. */
export const IDLE_TIMEOUT_SECONDS = 120
/** RFC 6455 section 5.5.1: what a close frame takes besides its code. */
const MAX_REASON_BYTES = 123

/** Status codes that a close frame may carry. */
interface CloseFrame {
  /** undefined: none is sent. */
  readonly code: number | undefined
  readonly reason: string
}

/**
 * Makes a code and a reason that may be sent (RFC 6455 section 7.4). 1005, 1006 and 1015 stand for "no code"; other codes that
 * may not be sent become 1011.
 */
export function closeFrame(code: number, reason: string): CloseFrame {
  if (code === 1005 || code === 1006 || code === 1015) return { code: undefined, reason: '' }
  const isSendable = (code >= 1000 && code <= 1014 && code !== 1004) || (code >= 3000 && code <= 4999)
  return { code: isSendable ? code : 1011, reason: shortened(reason) }
}

function shortened(reason: string): string {
  const bytes = Buffer.from(reason)
  if (bytes.byteLength <= MAX_REASON_BYTES) return reason
  let end = MAX_REASON_BYTES
  // Not in the middle of a character.
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--
  return bytes.subarray(0, end).toString()
}
