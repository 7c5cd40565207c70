/// <reference path="../modules.d.ts" />
import { compilerRuntime, jsxDevRuntime, jsxRuntime, react, reactDom, server } from 'svc:react'
import { ReadableStream } from 'web-streams-polyfill'
import { TextEncoder } from '../prelude/encoding/text-coding.ts'
import { registerBuiltin } from '../registry/builtins.ts'

type Exports = Readonly<Record<string, unknown>>

/** An export that exists, so that modules which import it load, and that fails when it is called. */
function unavailable(name: string, reason: string): () => never {
  return () => {
    throw new TypeError(`${name}() is not available to a site: ${reason}`)
  }
}

/** `renderToReadableStream` of React's own interface: a stream of bytes, with `allReady`. */
async function renderToReadableStream(element: unknown, options: object = {}): Promise<object> {
  const direct = await server.renderToReadableStream(element, options)
  const encoder = new TextEncoder()
  const stream = new ReadableStream({
    pull(controller: { enqueue(bytes: Uint8Array): void; close(): void; error(reason: unknown): void }) {
      // Each pull hands over all that is ready; the rest comes when React has it.
      return new Promise<void>((resolve) => {
        direct.pull({
          write(text) {
            controller.enqueue(encoder.encode(text))
            return true
          },
          flush: () => resolve(),
          end() {
            controller.close()
            resolve()
          },
          error(reason) {
            controller.error(reason)
            resolve()
          },
        })
      })
    },
    cancel: (reason: unknown) => direct.cancel(reason),
  })
  return Object.assign(stream, { allReady: direct.allReady })
}

const noNodeStreams = 'there are no streams of Node; use renderToReadableStream()'
const noResume = 'the server does not prerender pages in parts'

/** `react-dom/server`, in each of its spellings. */
function reactDomServer(): Exports {
  return {
    version: server['version'],
    renderToString: server['renderToString'],
    renderToStaticMarkup: server['renderToStaticMarkup'],
    renderToReadableStream,
    renderToPipeableStream: unavailable('renderToPipeableStream', noNodeStreams),
    resumeToPipeableStream: unavailable('resumeToPipeableStream', noNodeStreams),
    resume: unavailable('resume', noResume),
  }
}

/** `react-dom/client`: packages import it beside what they render on the server. */
function reactDomClient(): Exports {
  const reason = 'pages are rendered on the server only'
  return {
    version: server['version'],
    createRoot: unavailable('createRoot', reason),
    hydrateRoot: unavailable('hydrateRoot', reason),
  }
}

/** Serves the server's React to all sites: the renderer takes elements of its own copy only. */
export function registerReact(): void {
  registerBuiltin('react', () => react)
  registerBuiltin('react/jsx-runtime', () => jsxRuntime)
  registerBuiltin('react/jsx-dev-runtime', () => jsxDevRuntime)
  registerBuiltin('react/compiler-runtime', () => compilerRuntime)
  registerBuiltin('react-dom', () => reactDom)
  registerBuiltin('react-dom/client', reactDomClient)
  for (const build of ['', '.edge', '.browser', '.node', '.bun']) registerBuiltin(`react-dom/server${build}`, reactDomServer)
  // Markers that packages import for their effect in other bundlers.
  registerBuiltin('server-only', () => ({}))
  registerBuiltin('client-only', () => ({}))
}
