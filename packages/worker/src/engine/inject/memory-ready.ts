import type { HeaderBlock } from '../header-block.ts'
import type { ReadyAsk, ReadyResponses } from '../ready-responses.ts'
import type { MemoryResponse } from './memory-exchange.ts'

/** Answers with a ready response if there is one, as the engines do. */
export function readyInMemory(ready: ReadyResponses, ask: ReadyAsk): MemoryResponse | undefined {
  const response = ready.find(ask)
  if (response === undefined) return undefined
  const { block, length } = response
  const body = Buffer.from(response.body ?? '')
  const framing = response.body === undefined ? length : String(body.byteLength)
  const fields = fieldsOf(block)
  const headerList = framing === '' ? fields : [...fields, ['content-length', framing] as const]
  ready.sent()
  const headers = Object.fromEntries([...headerList].reverse())
  const chunks = body.byteLength === 0 ? [] : [body]
  return { status: block.status, headers, headerList, body, text: body.toString(), chunks, aborted: false }
}

/** Takes the written form apart again. */
function fieldsOf({ name, rest }: HeaderBlock): Array<readonly [name: string, value: string]> {
  if (name.length === 0) return []
  return `${textOf(name)}: ${textOf(rest)}`.split('\r\n').map((line) => {
    const colon = line.indexOf(':')
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 2)] as const
  })
}

function textOf(written: string | Uint8Array): string {
  return typeof written === 'string' ? written : Buffer.from(written).toString('latin1')
}
