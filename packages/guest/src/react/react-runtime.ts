/// <reference path="./svc-react.d.ts" />
import { jsxRuntime, react, server } from 'svc:react'

/** Takes the pieces of a page. `write` returns whether there is room for more. */
export interface HtmlSink {
  write(text: string): boolean
  /** Marks the text so far as complete: it may be sent. */
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

/** The options of React's `renderToReadableStream` that matter here. */
interface RenderOptions {
  readonly identifierPrefix?: string
  readonly progressiveChunkSize?: number
  readonly signal?: object
  onError?(error: unknown, info: { readonly componentStack?: string }): string | undefined
}

/** One copy of React: elements and the renderer must come from the same one. */
export interface ReactRuntime {
  readonly react: Readonly<Record<string, unknown>>
  readonly jsxRuntime: Readonly<Record<string, unknown>>
  /** Resolves when the shell is ready, rejects with the error that the shell threw. */
  render(element: unknown, options: RenderOptions): Promise<HtmlSource>
}

/** The copy of React that the guest carries. */
export const reactRuntime: ReactRuntime = {
  react,
  jsxRuntime,
  render: (element, options) => server.renderToReadableStream(element, options),
}
