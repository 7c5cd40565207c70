import type { IncomingMessage } from 'node:http'
import type { HeaderList } from '@svc/http'
import { connectionOptions, isConnectionField } from '../http/answer-head.ts'

/** The fields of an answer that are not those of its connection; names in lower case. */
export function fieldsOf({ rawHeaders, headers }: IncomingMessage): HeaderList {
  const named = connectionOptions(headers.connection ?? '')
  const fields: (readonly [string, string])[] = []
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]?.toLowerCase() ?? ''
    if (!isConnectionField(name) && !named.has(name)) fields.push([name, rawHeaders[i + 1] ?? ''])
  }
  return fields
}
