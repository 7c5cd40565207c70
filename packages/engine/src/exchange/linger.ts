/** How long, and how much of, a request is still taken after the answer to it, so that the answer is not lost in a reset. */
export const LINGER_MS = 3_000
export const LINGER_BYTES = 64 * 1024 * 1024
