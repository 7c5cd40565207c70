import { readFileSync } from 'node:fs'
import type { WireError } from '@svc/core'
import type { SourceProblem } from '../compile/source-problem.ts'
import type { BeginRequest, EmittedError, EmittedHead } from '../contract/isolate.ts'
import { type DevErrorInput, devErrorPage } from '../dev-error/dev-error-page.ts'
import type { RenderResult, RenderTask, ThreadSettings } from './thread-messages.ts'

const shown = new Set(['RENDER_FAILED', 'RENDER_COMPILE', 'RENDER_RESOLVE'])

function readSource(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    // The page is shown without an excerpt.
    return undefined
  }
}

function errorOf({ message, data }: WireError): DevErrorInput['error'] {
  const facts = (data ?? {}) as Partial<EmittedError & SourceProblem>
  if (facts.file !== undefined && facts.line !== undefined) {
    const text = facts.hint === undefined ? (facts.message ?? message) : `${facts.message}\n${facts.hint}`
    return { name: 'Compile error', message: text, stack: `Error\n    at ${facts.file}:${facts.line}:${facts.column}` }
  }
  const { name = 'Error', stack = '', digest, where } = facts
  return {
    name,
    message: facts.message ?? message,
    stack,
    ...(digest === undefined ? {} : { digest }),
    ...(where === undefined ? {} : { where }),
  }
}

/**
 * The page that development mode shows for an error of the site, in place of the error; undefined for errors that are not
 * the site's. For inspections there is nobody to show it to.
 */
export function devErrorAnswer(error: WireError, task: RenderTask, { root, mode }: ThreadSettings): RenderResult | undefined {
  if (mode !== 'development' || task.kind === 'inspect' || !shown.has(error.code)) return undefined
  const { requestId, method, url } = JSON.parse(task.begin) as BeginRequest
  const html = devErrorPage({ error: errorOf(error), root, readSource, request: { requestId, method, url, route: task.route } })
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
