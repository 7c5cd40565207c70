import { Body, type TakenBody } from '../prelude/fetch/body.ts'
import type { AnswerHead } from '../request/answer.ts'
import type { GuestRequest } from '../request/guest-request.ts'

type Fields = readonly (readonly [name: string, value: string])[]

/** True if a value is a `Response`, of whatever copy of the class. */
export function isResponse(value: unknown): value is Response {
  return (
    typeof value === 'object' && value !== null && 'status' in value && 'headers' in value && 'body' in value && 'clone' in value
  )
}

/** Fields that only mean something between middleware and the server. */
const internal = /^x-middleware-/

/** Status and fields of a response, with the cookies that were set through `cookies()`. */
export function headOf(response: Response, cookies: readonly string[]): AnswerHead {
  const fields: Fields = [...response.headers].filter(([name]) => !internal.test(name))
  return { status: response.status, headers: [...fields, ...cookies.map((cookie) => ['set-cookie', cookie] as const)] }
}

/**
 * Sends a response and ends the request. A body is read piece by piece and only as fast as the client takes it. Without
 * `withBody` (HEAD) the body is cancelled unread.
 */
export async function emitResponse(
  guest: GuestRequest,
  response: Response,
  options: { readonly cookies: readonly string[]; readonly withBody: boolean },
): Promise<void> {
  const head = headOf(response, options.cookies)
  if (!options.withBody) {
    await response.body?.cancel()
    guest.answer.complete(head, '')
    return
  }
  // `body` is read last: it makes a stream even of a body that is at hand whole.
  if (response instanceof Body) await emitBody(guest, head, Body.take(response))
  else if (response.body === null) guest.answer.complete(head, '')
  else await emitStream(guest, head, response.body)
}

/** A body that is at hand goes out in one piece; text is not encoded inside the isolate. */
async function emitBody(guest: GuestRequest, head: AnswerHead, body: TakenBody): Promise<void> {
  switch (body.kind) {
    case 'none':
      guest.answer.complete(head, '')
      return
    case 'text':
      guest.answer.complete(head, body.text)
      return
    case 'bytes':
      guest.answer.head(head)
      guest.answer.bytes(body.bytes)
      guest.answer.finish()
      return
    case 'stream':
      await emitStream(guest, head, body.stream as unknown as ReadableStream<Uint8Array>)
  }
}

async function emitStream(guest: GuestRequest, head: AnswerHead, body: ReadableStream<Uint8Array>): Promise<void> {
  const reader = body.getReader()
  const first = reader.read()
  await soon(first)
  guest.answer.head(head)
  const giveUp = () => {
    // Ends the read that waits; an error of the cancelled body is of no use any more.
    reader.cancel(guest.signal.reason).catch(() => undefined)
  }
  guest.signal.addEventListener('abort', giveUp, { once: true })
  let burst = 0
  for (let piece = await first; !piece.done && !guest.signal.aborted; piece = await reader.read()) {
    const bytes = bytesOf(piece.value)
    guest.answer.bytes(bytes)
    burst += bytes.byteLength + pieceCost
    if (burst >= maxBurst) {
      burst = 0
      await hostTurn()
    }
    await guest.answer.ready()
  }
  guest.signal.removeEventListener('abort', giveUp)
  guest.answer.finish()
}

/** Bytes after which the host gets a turn, and the number of bytes that each piece counts in addition. */
const maxBurst = 65_536
const pieceCost = 1024

/**
 * Leaves the isolate once. A body that always has its next piece ready would otherwise run on without end, since the host can
 * ask to hold only between two entries.
 */
function hostTurn(): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, 0)
  })
}

/** Turns of the microtask queue that a first piece is given. */
const patience = 32

/**
 * Waits a little for the first piece, so that a body that fails at once is answered with an error; no longer, since a stream
 * of events may have nothing to say for a while. Rejects when the piece does.
 */
async function soon(first: Promise<unknown>): Promise<void> {
  let isSettled = false
  const watch = first.finally(() => {
    isSettled = true
  })
  // The failure is taken from `watch` below, or later from the piece itself.
  watch.catch(() => undefined)
  for (let turn = 0; turn < patience && !isSettled; turn++) await undefined
  if (isSettled) await watch
}

function bytesOf(piece: unknown): Uint8Array {
  if (piece instanceof Uint8Array) return piece
  throw new TypeError('The body of a response must be a stream of bytes (Uint8Array).')
}
