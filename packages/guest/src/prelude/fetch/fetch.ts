import { currentContext } from '../../context/context.ts'
import { OwnSet, parse } from '../../context/primordials.ts'
import type { EmittedError } from '../../contract/isolate.ts'
import { callHost, forgetCall, tellHost } from '../../host/host-calls.ts'
import { type Turn, Turns } from '../../host/turns.ts'
import { encodeUtf8, exactBuffer } from '../encoding/bytes.ts'
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
  /** Of the entry of the data cache that this is. */
  readonly tags?: readonly string[]
}

/** Options of a fetch that goes through the data cache of the host. */
export interface FetchCache {
  /** Seconds; false: for ever. */
  readonly revalidate: number | false
  readonly tags: readonly string[]
  /** True if the code has named the time itself. */
  readonly isExplicit: boolean
  /** Told the tags of the entry, when one was found. */
  onTags(tags: readonly string[]): void
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

/** A fetch that is not over: in the host's hands, or waiting to get there. */
interface OpenFetch {
  /** Number of the request that it is made for; 0: none. */
  readonly requestNumber: number
  drop(reason: unknown): void
}

/** Fetches of an isolate that are carried out at once; the others wait. */
const MAX_RUNNING = 256
/** Fetches that have begun and are not over. */
const MAX_BEGUN = 4_096
const turns = new Turns(MAX_RUNNING)
const open = new OwnSet<OpenFetch>()
let begun = 0

/** Ends the fetches of an aborted request. */
export function dropFetchesOf(requestNumber: number, reason: unknown): void {
  open.forEach((fetch) => {
    if (fetch.requestNumber === requestNumber) fetch.drop(reason)
  })
}

/** One fetch: settles `resolve`/`reject` with the head, then fills the body. */
function send(request: Request, bytes: ArrayBuffer | undefined, cache: FetchCache | undefined): Promise<Response> {
  return new Promise((resolve, reject) => {
    const { url, method, redirect, signal } = request
    const requestNumber = currentContext()?.request?.number ?? 0
    const queue = new ByteQueue()
    let isHeadDone = false
    let callId: number | undefined
    let turn: Turn | undefined
    const over = () => {
      if (open.delete(entry)) begun--
      signal.removeEventListener('abort', onAbort)
      turn?.end()
    }
    const giveUp = () => {
      over()
      if (callId === undefined) return
      forgetCall(callId)
      tellHost('fetch-abort', { callId })
    }
    const entry: OpenFetch = {
      requestNumber,
      drop(reason) {
        giveUp()
        reject(reason)
        queue.fail(reason)
      },
    }
    const onAbort = () => entry.drop(signal.reason)
    const ask = () => {
      const headers = Headers.list(request.headers)
      const argument = { requestNumber, url, method, headers, redirect, hasBody: bytes !== undefined, cache }
      callId = callHost('fetch', argument, bytes, {
        onPiece(json, piece, isLast) {
          if (!isHeadDone) {
            isHeadDone = true
            const head = parse(json) as FetchedHead
            if (head.tags !== undefined) cache?.onTags(head.tags)
            resolve(toResponse(request, head, method === 'HEAD' ? null : queue))
          }
          if (piece !== undefined && piece.byteLength > 0) queue.push(new Uint8Array(piece))
          if (!isLast) return
          queue.end()
          over()
        },
        onError(error) {
          over()
          reject(networkError(error))
          queue.fail(networkError(error))
        },
      })
    }
    const start = () => {
      try {
        ask()
      } catch (error) {
        // Code of the site may have replaced the functions that make the question.
        entry.drop(error)
      }
    }
    open.add(entry)
    queue.onCancel(giveUp)
    signal.addEventListener('abort', onAbort, { once: true })
    turn = turns.take(start)
    if (!open.has(entry)) turn.end()
  })
}

/**
 * Fetch standard `fetch`, carried out by the host (http and https only). Rejects with TypeError for network errors and with
 * the signal's reason when aborted; an aborted request of the site aborts its fetches.
 */
export async function fetch(input: unknown, init?: RequestInit, cache?: FetchCache): Promise<Response> {
  if (begun >= MAX_BEGUN) throw new TypeError(`fetch failed: ${MAX_BEGUN} fetches of this site are in flight already`)
  begun++
  let isSent = false
  try {
    const request = new Request(input, init)
    request.signal.throwIfAborted()
    if (!/^https?:/.test(request.url)) throw new TypeError(`fetch failed: ${request.url} is neither http nor https`)
    const bytes = await outgoingBody(request)
    request.signal.throwIfAborted()
    isSent = true
    return send(request, bytes, cache)
  } finally {
    if (!isSent) begun--
  }
}
