/** Takes the pieces of a page. `write` returns whether there is room for more. */
export interface HtmlSink {
  write(text: string): boolean
  /** What was written so far belongs together and may be sent. */
  flush(): void
  end(): void
  error(error: unknown): void
}

/** A page whose shell is ready. */
export interface HtmlSource {
  /** Resolves when nothing is pending any more. */
  readonly allReady: Promise<void>
  /** Starts (or goes on) writing to the sink; what is ready is written before this returns. */
  pull(sink: HtmlSink): void
  cancel(reason: unknown): void
}
