import type { HeaderList, ResponseHead } from './http-exchange.ts'

/** The producer of one response, as its sink controls it. Neither call throws; both do nothing after the last call to the sink. */
export interface ResponseSource {
  /** Lets chunks come again after `chunk` returned false. Not to be called from inside that very call, which returns true instead. */
  resume(): void
  /** The sink wants nothing more: no further call reaches it. Allowed at any time, from inside any call of the sink too. */
  abort(): void
}

/**
 * Receives one response while it is produced: by an upstream, an application, a render, or a cache. Only its source calls it.
 *
 * Order: `attach`, any number of `informational`, then either `whole`, or `head`, any number of `chunk` and `end`. `fail` may come
 * in place of each call after `attach`. `whole`, `end` and `fail` are the last call.
 *
 * Bytes are lent: they are valid until the call returns, and a sink that needs them longer copies them. Heads and trailers belong
 * to all and are never changed.
 *
 * @typeParam Facts what the source tells beside the response itself, once that is complete (a render: what it read and its tags)
 * @typeParam Source what the sink can ask of its source
 */
export interface ResponseSink<Facts = void, Source extends ResponseSource = ResponseSource> {
  /**
   * Gives the sink its source, before anything else and before the source begins its work. Called again when another source takes
   * over before the head, as where a cache passes a request on; only the latest counts.
   */
  attach(source: Source): void
  /** An interim response (1xx) that is meant for the client, such as 103. */
  informational(head: ResponseHead): void
  /** A whole response at once. The body may be empty. */
  whole(head: ResponseHead, body: Uint8Array, facts: Facts): void
  /** Fields without those of the connection and the framing. `length`: of the body, where it is known. */
  head(head: ResponseHead, length: number | undefined): void
  /**
   * Some bytes of the body, never none. False: the sink is full, and calls `resume` once it is not. The source stops until then; the
   * sink still takes the chunks that the source has at hand, which are bounded.
   */
  chunk(bytes: Uint8Array): boolean
  /** The body is complete. `trailers`: fields behind it; [] when there are none. */
  end(trailers: HeaderList, facts: Facts): void
  /** There is no response, or no more of it. Before the head the error's status answers the client; after it the response is cut. */
  fail(error: Error): void
}
