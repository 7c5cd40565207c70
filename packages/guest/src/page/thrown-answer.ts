import type { GuestRequest } from '../request/guest-request.ts'
import { controlFlowOf } from '../scope/control-flow.ts'

/**
 * A redirect's target as a Location field may carry it: visible ASCII. Other characters are percent-encoded, a line break
 * included, so that text of a request cannot add fields.
 */
export function locationOf(url: string): string {
  return url.toWellFormed().replace(/[^\x21-\x7e]+/g, encodeURIComponent)
}

/** Sends a redirect, with the Set-Cookie fields that go with it. */
export function answerRedirect(
  guest: GuestRequest,
  flow: { readonly url: string; readonly status: number },
  cookies: readonly string[] = [],
): void {
  const headers = [['location', locationOf(flow.url)] as const, ...cookies.map((cookie) => ['set-cookie', cookie] as const)]
  guest.answer.complete({ status: flow.status, headers }, '')
}

/** Ends a request whose code threw: with what `redirect`, `notFound` and their kin ask for, else with the error. */
export function answerThrown(guest: GuestRequest, error: unknown, file: string, cookies: readonly string[] = []): void {
  const flow = controlFlowOf(error)
  if (flow === undefined) guest.answer.fail(error, file)
  else if (flow.kind === 'redirect') answerRedirect(guest, flow, cookies)
  else guest.answer.complete({ status: flow.status, headers: [] }, '')
}
