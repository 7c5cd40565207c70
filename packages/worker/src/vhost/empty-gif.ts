import { evaluateConditions, formatHttpDate } from '@svc/http'
import type { Outcome, PhaseRun } from './phase-run.ts'
import { currentField } from './static-content.ts'

/** A transparent pixel. */
const PIXEL = Buffer.from('R0lGODlhAQABAIABAAAAAP///yH5BAEAAAEALAAAAAABAAEAAAICTAEAOw==', 'base64')
/** As nginx says. */
const VERSION = { lastModifiedMs: 23_349_600_000, etag: undefined }
const MODIFIED = ['last-modified', formatHttpDate(VERSION.lastModifiedMs)] as const

/** Answers with a transparent pixel. */
export function sendEmptyGif(run: PhaseRun): Outcome {
  const { context, method, location } = run.state
  if (method !== 'GET' && method !== 'HEAD') return run.fail(405)
  const rule = location.settings.fileTerms?.ifModifiedSince ?? 'exact'
  const header = (name: string) => currentField(context.request, name, VERSION, rule)
  const outcome = evaluateConditions({ method, header }, VERSION)
  if (outcome === 'precondition-failed') return run.fail(412)
  if (outcome === 'not-modified') {
    context.respond({ status: 304, headers: [MODIFIED] })
    return 'answered'
  }
  run.offer()
  context.respondCompressed({ status: 200, headers: [['content-type', 'image/gif'], MODIFIED] }, PIXEL)
  return 'answered'
}
