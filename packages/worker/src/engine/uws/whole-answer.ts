import type { HttpResponse } from 'uWebSockets.js'
import type { HeaderBlock } from '../header-block.ts'
import type { Closing } from './closing.ts'

/** Writes the head of a response. Within a handler or a cork. */
export function writeHead(res: HttpResponse, block: HeaderBlock): void {
  if (block.status !== 200) res.writeStatus(block.statusLine)
  if (block.name.length > 0) res.writeHeader(block.name, block.rest)
}

/** Writes a response whose body is there. Within a handler or a cork. */
export function writeWhole(res: HttpResponse, block: HeaderBlock, body: Uint8Array, closing: Closing): void {
  writeHead(res, block)
  if (closing === 'closesItself') res.writeHeader('Connection', 'close')
  if (closing === 'closes') res.end(body, true)
  else res.end(body)
}

interface Answer {
  readonly res: HttpResponse
  readonly block: HeaderBlock
  readonly body: Uint8Array
  readonly closing: Closing
}

let corked: Answer | undefined

/** One function for all: the library calls it before `cork` returns, and a new function is slow when it is called first. */
const writeCorked = (): void => {
  if (corked !== undefined) writeWhole(corked.res, corked.block, corked.body, corked.closing)
}

/** The same from anywhere: head and body leave together. */
export function writeWholeCorked(res: HttpResponse, block: HeaderBlock, body: Uint8Array, closing: Closing): void {
  corked = { res, block, body, closing }
  res.cork(writeCorked)
  corked = undefined
}
