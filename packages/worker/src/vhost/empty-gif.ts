import { formatHttpDate, parseHttpDate } from '@svc/http'
import type { Outcome, PhaseRun } from './phase-run.ts'

/** A transparent pixel. */
const PIXEL = Buffer.from('R0lGODlhAQABAIABAAAAAP///yH5BAEAAAEALAAAAAABAAEAAAICTAEAOw==', 'base64')
/** As nginx says. */
const MODIFIED_MS = 23_349_600_000
const MODIFIED = ['last-modified', formatHttpDate(MODIFIED_MS)] as const

/** Answers with a transparent pixel. */
export function sendEmptyGif(run: PhaseRun): Outcome {
  const { context, method, location } = run.state
  if (method !== 'GET' && method !== 'HEAD') return run.fail(405)
  const since = context.request.header('if-modified-since')
  const time = since === undefined ? undefined : parseHttpDate(since)
  const rule = location.settings.fileTerms?.ifModifiedSince ?? 'exact'
  const isCurrent = time !== undefined && (time === MODIFIED_MS || (rule === 'before' && time > MODIFIED_MS))
  if (isCurrent && rule !== 'off') {
    context.respond({ status: 304, headers: [MODIFIED] })
    return 'answered'
  }
  run.offer()
  context.respondCompressed({ status: 200, headers: [['content-type', 'image/gif'], MODIFIED] }, PIXEL)
  return 'answered'
}
