/// <reference path="../modules.d.ts" />
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

/** Makes an element; keeps the props object as it is, getters included. */
export const jsx = jsxRuntime['jsx'] as (type: unknown, props: object) => unknown
export const { Fragment, Suspense } = react
export const cloneElement = react['cloneElement'] as (child: unknown, props: object) => unknown
export const useContext = react['useContext'] as (context: unknown) => unknown

/** Tells a component below which layout it stands. */
export const LayoutContext = (react['createContext'] as (value: null) => unknown)(null)

/** The options of React's `renderToReadableStream` that matter here. */
interface RenderOptions {
  readonly identifierPrefix?: string
  readonly progressiveChunkSize?: number
  onError?(error: unknown, info: { readonly componentStack?: string }): string | undefined
}

/** Resolves when the shell is ready, rejects with the error that the shell threw. */
export function renderElement(element: unknown, options: RenderOptions): Promise<HtmlSource> {
  return server.renderToReadableStream(element, options)
}
