import { asError } from '@svc/core'
import { type HeaderList, type Problem, problemOf, problemResponse, statusText } from '@svc/http'
import { plainPage } from './plain-page.ts'
import type { RequestContext } from './request-context.ts'

/** Answers with an error: problem+json, or a small page for a browser. Does nothing when a response has begun. */
export function sendError(context: RequestContext, problem: Problem, headers: HeaderList = []): void {
  const { plugins } = context
  if (context.isAnswered || plugins?.isAnswering === true) return
  const answer = () => sendProblem(context, problem, headers)
  if (plugins?.failed(problem, answer) !== true) answer()
}

function sendProblem(context: RequestContext, problem: Problem, headers: HeaderList): void {
  if (context.hasPlainErrors) {
    sendPlain(context, problem.status, headers)
    return
  }
  const { requestId } = context
  const accept = context.request.header('accept')
  const { head, body } = problemResponse({ requestId, ...problem }, accept, [...headers, ['x-request-id', requestId]])
  context.respond(head, body)
}

/** Failures are in the log under the id of their request. */
function sendPlain(context: RequestContext, status: number, headers: HeaderList): void {
  const { head, body } = plainPage(status, status < 500 ? headers : [...headers, ['x-request-id', context.requestId]])
  context.respondCompressed(head, body)
}

/** Answers with an error that its status says everything about. */
export function sendStatus(context: RequestContext, status: number, headers: HeaderList = []): void {
  sendError(context, { status, code: codeOfStatus(status) }, headers)
}

function codeOfStatus(status: number): string {
  if (status === 413) return 'body_too_large'
  return statusText(status)
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '_')
}

/** Value of Retry-After, in seconds. */
const RETRY_AFTER: HeaderList = [['retry-after', '1']]

/** Answers for a failure inside the service, logs it under the request's id, and shows its message only where it may. */
export function sendFailure(context: RequestContext, thrown: unknown): void {
  const error = asError(thrown)
  const shown = problemOf(error)
  const problem =
    context.pathGroup === 'builtin' ? { detail: 'the log of the server has the reason, with this request id', ...shown } : shown
  context.reportFailure(error, problem.status)
  if (!context.isAnswered && context.showFailure?.(problem.status) === true) return
  sendError(context, problem, problem.status === 503 ? RETRY_AFTER : [])
}
