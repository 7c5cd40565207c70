import type { HttpResponse } from 'uWebSockets.js'
import type { HeaderBlock } from '../exchange/response-head.ts'

/** Longest body that goes out in one call: it fits in the library's cork buffer together with a usual head. */
export const MAX_SINGLE_BYTES = 12 * 1024

/** Writes the head of a response. Within a handler or a cork. */
export function writeHead(res: HttpResponse, block: HeaderBlock): void {
  if (block.ready !== undefined) {
    res.writeStatus(block.ready.bytes)
    return
  }
  if (block.status !== 200) res.writeStatus(block.statusLine)
  if (block.name.length > 0) res.writeHeader(block.name, block.rest)
}

/**
 * Writes a response whose body is there, and whose connection goes on behind it. Within a handler or a cork.
 * @returns true if it has been handed over whole; if not, the client takes it slowly
 */
export function writeWhole(res: HttpResponse, block: HeaderBlock, body: Uint8Array): boolean {
  writeHead(res, block)
  // Not `end`: it keeps for a client that reads nothing whatever it is given, one response behind the other.
  return res.tryEnd(body, body.byteLength)[1]
}

interface Answer {
  readonly res: HttpResponse
  readonly block: HeaderBlock
  readonly body: Uint8Array
}

let corked: Answer | undefined
let isWhole = true

/** One function for all: the library calls it before `cork` returns, and a new function is slow when it is called first. */
const writeCorked = (): void => {
  if (corked !== undefined) isWhole = writeWhole(corked.res, corked.block, corked.body)
}

/** The same from anywhere: head and body leave together. */
export function writeWholeCorked(res: HttpResponse, block: HeaderBlock, body: Uint8Array): boolean {
  corked = { res, block, body }
  res.cork(writeCorked)
  corked = undefined
  return isWhole
}
