import { realpathSync } from 'node:fs'
import type { SourceProblem } from '@svc/compile'
import { isBelow, readRegularFileSync, type WireError } from '@svc/core'
import type { BeginRequest, EmittedError, EmittedHead } from '@svc/guest'
import type { RenderResult, RenderTask, ThreadSettings } from '../contract/thread-messages.ts'
import { type DevErrorInput, devErrorPage, shownFrame } from '../dev-error/dev-error-page.ts'

/** Larger sources are not shown. */
const MAX_SOURCE_BYTES = 1024 * 1024

/** Sources of the text that the page may show. */
interface DevErrorSite extends Pick<ThreadSettings, 'mode'> {
  /** Real path of the site's directory. */
  readonly root: string
  /** True if a file is a module that the isolate has loaded. Only those are read: a stack is text that site code chooses. */
  readonly isLoaded: (file: string) => boolean
}

type ShownError = Pick<DevErrorInput, 'error' | 'frame'>

function compileError({ file, line, column, message, hint, frame }: SourceProblem): ShownError {
  const text = hint === undefined ? message : `${message}\n${hint}`
  return { error: { name: 'Compile error', message: text, stack: `Error\n    at ${file}:${line}:${column}` }, frame }
}

function shownError({ code, message, data }: WireError): ShownError | undefined {
  switch (code) {
    case 'RENDER_COMPILE':
    case 'RENDER_RESOLVE':
      // Raised by the compiler, with an excerpt of the file that it has read.
      if (data === undefined) return { error: { name: 'Compile error', message, stack: '' } }
      return compileError(data as unknown as SourceProblem)
    case 'RENDER_FAILED':
      return { error: { name: 'Error', message, stack: '', ...(data as Partial<EmittedError> | undefined) } }
    default:
      return undefined
  }
}

/**
 * The page that development mode shows for an error of the site, in place of the error; undefined for errors that are not
 * the site's, and for inspections, which no client waits for.
 */
export function devErrorAnswer(
  wire: WireError,
  task: RenderTask,
  { root, mode, isLoaded }: DevErrorSite,
): RenderResult | undefined {
  if (mode !== 'development' || task.kind === 'inspect') return undefined
  const shown = shownError(wire)
  if (shown === undefined) return undefined
  const { requestId, method, url } = JSON.parse(task.begin) as BeginRequest
  const input = { ...shown, root, request: { requestId, method, url, route: task.route } }
  const file = shown.frame === undefined ? shownFrame(input)?.file : undefined
  const source = file === undefined || !isLoaded(file) ? undefined : moduleSource(file, root)
  const html = devErrorPage(source === undefined ? input : { ...input, source })
  const head: EmittedHead = {
    status: 500,
    headers: [
      ['content-type', 'text/html; charset=utf-8'],
      ['cache-control', 'no-store'],
    ],
    facts: { reads: ['no-store'], tags: [] },
  }
  return { kind: 'complete', head: JSON.stringify(head), body: html, renderMs: 0 }
}

/**
 * Reads the source of a module for display: a regular file whose real path is the module's id, below `root`, of at most 1 MB.
 * Everything else, and a file that is being replaced meanwhile, is undefined.
 * @param root real path of the site's directory
 */
export function moduleSource(id: string, root: string): string | undefined {
  try {
    if (!isBelow(id, root) || realpathSync.native(id) !== id) return undefined
    // A directory of the path may become a link now: the limits hold for the file that is open.
    return readRegularFileSync(id, { maxBytes: MAX_SOURCE_BYTES, within: root }).toString('utf8')
  } catch {
    // Gone, or not readable: the page shows the error without the source.
    return undefined
  }
}
