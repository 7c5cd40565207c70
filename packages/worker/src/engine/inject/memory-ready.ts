import type { ReadyHead } from '../ready-head.ts'
import type { ReadyAsk, ReadyResponses } from '../ready-responses.ts'
import type { MemoryResponse } from './memory-exchange.ts'

/** Answers with a ready response if there is one, as the engines do. */
export function readyInMemory(ready: ReadyResponses, ask: ReadyAsk): MemoryResponse | undefined {
  const response = ready.find(ask)
  if (response === undefined) return undefined
  const { head, length } = response
  const body = Buffer.from(response.body ?? '')
  const framing = response.body === undefined ? length : String(body.byteLength)
  const fields = fieldsOf(head)
  const headerList = framing === '' ? fields : [...fields, ['content-length', framing] as const]
  ready.sent()
  const headers = Object.fromEntries([...headerList].reverse())
  const chunks = body.byteLength === 0 ? [] : [body]
  return { status: head.status, headers, headerList, body, text: body.toString(), chunks, aborted: false }
}

/** Takes the written form apart again. */
function fieldsOf({ bytes }: ReadyHead): Array<readonly [name: string, value: string]> {
  const [, ...lines] = Buffer.from(bytes).toString('latin1').split('\r\n')
  return lines.map((line) => {
    const colon = line.indexOf(':')
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 2)] as const
  })
}
