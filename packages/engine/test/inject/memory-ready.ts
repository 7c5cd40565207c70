import type { ReadyRequest, ReadyResponses } from '../../src/exchange/ready-responses.ts'
import { readyFields } from '../../src/exchange/ready-responses.ts'
import type { MemoryResponse } from './memory-exchange.ts'

/** Answers with a ready response if there is one, as the engines do. */
export function readyInMemory(ready: ReadyResponses, ask: ReadyRequest): MemoryResponse | undefined {
  const response = ready.find(ask)
  if (response === undefined) return undefined
  const { head, length } = response
  const body = Buffer.from(response.body ?? '')
  const framing = response.body === undefined ? length : String(body.byteLength)
  const fields = readyFields(head).map(([name, value]) => [name.toLowerCase(), value] as const)
  const headerList = framing === '' ? fields : [...fields, ['content-length', framing] as const]
  ready.sent()
  const headers = Object.fromEntries([...headerList].reverse())
  const chunks = body.byteLength === 0 ? [] : [body]
  return { status: head.status, headers, headerList, body, text: body.toString(), chunks, aborted: false }
}
