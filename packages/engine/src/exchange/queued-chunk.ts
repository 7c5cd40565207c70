/** A piece of an answer that waits for its turn. */
export interface QueuedChunk {
  readonly bytes: Uint8Array
  /** To be called once nobody looks at the bytes any more. */
  readonly onUnused: (() => void) | undefined
}
