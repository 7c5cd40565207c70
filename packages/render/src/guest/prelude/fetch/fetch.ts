import type { EmittedError } from '../../../contract/isolate.ts'
import { callHost, callHostOnce, forgetCall } from '../../host/host-calls.ts'
import { currentRequest } from '../../request/current-request.ts'
import { exactBuffer } from '../encoding/bytes.ts'
import { encodeUtf8 } from '../encoding/utf8.ts'
import { Body } from './body.ts'
import { ByteQueue } from './byte-queue.ts'
import { Headers } from './headers.ts'
import { Request, type RequestInit } from './request.ts'
import { Response } from './response.ts'

interface FetchedHead {
  readonly status: number
  readonly statusText: string
  readonly headers: readonly (readonly [string, string])[]
  readonly url: string
  readonly redirected: boolean
}

async function outgoingBody(request: Request): Promise<ArrayBuffer | undefined> {
  const taken = Body.take(request)
  switch (taken.kind) {
    case 'none':
      return undefined
    case 'text':
      return exactBuffer(encodeUtf8(taken.text))
    case 'bytes':
      return exactBuffer(taken.bytes)
    case 'stream':
      return exactBuffer((await new Response(taken.stream).bytes()) as Uint8Array)
  }
}

const networkError = (error: EmittedError) => new TypeError(`fetch failed: ${error.message}`, { cause: error })

function toResponse(request: Request, head: FetchedHead, body: ByteQueue | null): Response {
  const isStopped =
    request.redirect === 'manual' && head.status >= 300 && head.status < 400 && head.headers.some(([name]) => name === 'location')
  const type = isStopped ? 'opaqueredirect' : 'basic'
  return Response.received({ ...head, headers: head.headers }, { url: head.url, isRedirected: head.redirected, type }, body)
}

/** One fetch under way: settles `resolve`/`reject` with the head, then fills the body. */
function send(request: Request, bytes: ArrayBuffer | undefined): Promise<Response> {
  return new Promise((resolve, reject) => {
    const queue = new ByteQueue()
    const owner = currentRequest()
    // A fetch ends with its own signal and with the request that it is made for.
    const signals = owner === undefined ? [request.signal] : [request.signal, owner.signal]
    let isHeadDone = false
    const { url, method, redirect } = request
    const headers = Headers.list(request.headers)
    const argument = {
      requestNumber: owner?.number ?? 0,
      url,
      method,
      headers,
      redirect,
      hasBody: bytes !== undefined,
    }
    const giveUp = () => {
      forget()
      forgetCall(callId)
      // Nothing is left to be told about it: the fetch is over either way.
      callHostOnce('fetch-abort', { callId }, undefined).catch(() => undefined)
    }
    const onAbort = () => {
      giveUp()
      const { reason } = signals.find((signal) => signal.aborted) ?? request.signal
      reject(reason)
      queue.fail(reason)
    }
    const forget = () => {
      for (const signal of signals) signal.removeEventListener('abort', onAbort)
    }
    const callId = callHost('fetch', argument, bytes, {
      onPiece(json, piece, isLast) {
        if (!isHeadDone) {
          isHeadDone = true
          resolve(toResponse(request, JSON.parse(json) as FetchedHead, method === 'HEAD' ? null : queue))
        }
        if (piece !== undefined && piece.byteLength > 0) queue.push(new Uint8Array(piece))
        if (!isLast) return
        queue.end()
        forget()
      },
      onError(error) {
        forget()
        reject(networkError(error))
        queue.fail(networkError(error))
      },
    })
    queue.onCancel(giveUp)
    for (const signal of signals) signal.addEventListener('abort', onAbort, { once: true })
  })
}

/**
 * Fetch standard `fetch`, carried out by the host (http and https only). Rejects with TypeError for network errors and with
 * the signal's reason when aborted; a request of the site that is given up aborts its fetches.
 */
export async function fetch(input: unknown, init?: RequestInit): Promise<Response> {
  const request = new Request(input, init)
  request.signal.throwIfAborted()
  if (!/^https?:/.test(request.url)) throw new TypeError(`fetch failed: ${request.url} is neither http nor https`)
  const bytes = await outgoingBody(request)
  request.signal.throwIfAborted()
  return send(request, bytes)
}
