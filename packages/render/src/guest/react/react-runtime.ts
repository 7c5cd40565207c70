/// <reference path="./svc-react.d.ts" />
import { jsxRuntime, react, server } from 'svc:react'
import { requireExports } from '../registry/registry.ts'
import { guestSettings } from '../settings.ts'
import type { HtmlSource } from './html-source.ts'
import { readableHtml } from './readable-html.ts'

/** The options of React's `renderToReadableStream` that matter here. */
export interface RenderOptions {
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

type Exports = Readonly<Record<string, unknown>>

interface ServerModule {
  renderToReadableStream(element: unknown, options: RenderOptions): Promise<unknown>
}

const snapshotRuntime: ReactRuntime = {
  react,
  jsxRuntime,
  render: (element, options) => server.renderToReadableStream(element, options),
}

/** Returns the site's own React when it has one, else the one that came with the snapshot. */
export function reactRuntime(): ReactRuntime {
  const own = guestSettings().react
  if (own === undefined) return snapshotRuntime
  const { renderToReadableStream } = requireExports(own.server) as ServerModule
  return {
    react: requireExports(own.react) as Exports,
    jsxRuntime: requireExports(own.jsxRuntime) as Exports,
    render: async (element, options) => readableHtml(await renderToReadableStream(element, options)),
  }
}

const preparations: ((runtime: ReactRuntime) => void)[] = []

/** Registers what is done to the React of the site before any of the site's modules is run. */
export function registerReactPreparation(prepare: (runtime: ReactRuntime) => void): void {
  preparations.push(prepare)
}

/** Makes the React of the site ready for its modules. Called before they may be run; cheap when it was done before. */
export function prepareReact(): void {
  const runtime = reactRuntime()
  for (const prepare of preparations) prepare(runtime)
}
