import type { BodyWriter, ResponseHead } from '@svc/http'

/** A body that is changed on its way to the client. */
export interface FilteredBody {
  /** The head of the changed response. */
  readonly head: ResponseHead
  /** The changed body; the one passed in may be reused after the call. */
  whole(body: Uint8Array): Uint8Array
  /** Changes what is written. Chunks are not used after the call. */
  writerTo(writer: BodyWriter): BodyWriter
}

/** Changes bodies of responses before they are compressed. */
export interface BodyFilter {
  /** Undefined: this response stays as it is. */
  open(head: ResponseHead): FilteredBody | undefined
}
