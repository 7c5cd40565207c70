import { parseHttpDate, type ResponseHead, withoutControls } from '@svc/http'
import { type AddHeaderSpec, type ExpiresSpec, expiresFields } from '@svc/vhosts'
import type { Scope } from './scope.ts'
import { readForAnswer, type Templates } from './templates.ts'

/** Adds the fields of a location to the head of an answer. */
export type FieldAdder = (scope: Scope, head: ResponseHead) => ResponseHead

type Fields = (readonly [name: string, value: string])[]

/** Statuses that get fields without `always`. */
const PLAIN_STATUSES: ReadonlySet<number> = new Set([200, 201, 204, 206, 301, 302, 303, 304, 307, 308])
/** Fields of which an answer has one: what is added takes the place of what is there. */
const SINGLE_FIELDS: ReadonlySet<string> = new Set(['content-type', 'etag', 'last-modified'])

/** Compiles `add_header` and `expires`; undefined when there are none. */
export function compileFields(
  { addHeaders, expires }: { readonly addHeaders: readonly AddHeaderSpec[]; readonly expires: ExpiresSpec | undefined },
  templates: Templates,
): FieldAdder | undefined {
  if (addHeaders.length === 0 && (expires === undefined || expires.kind === 'off')) return undefined
  const added = addHeaders.map(({ name, value, isAlways }) => ({
    name: name.toLowerCase(),
    value: templates.of(value),
    isAlways,
  }))
  return (scope, head) => {
    const isPlain = PLAIN_STATUSES.has(head.status)
    let headers: Fields = [...head.headers]
    if (isPlain && expires !== undefined) headers = withExpires(scope, headers, expires)
    for (const { name, value, isAlways } of added) {
      if (!isPlain && !isAlways) continue
      const text = withoutControls(readForAnswer(scope, value))
      if (SINGLE_FIELDS.has(name)) headers = headers.filter(([known]) => known.toLowerCase() !== name)
      if (text !== '') headers.push([name, text])
    }
    return { status: head.status, headers }
  }
}

function withExpires({ context }: Scope, headers: Fields, rule: ExpiresSpec): Fields {
  const modified = headers.find(([name]) => name.toLowerCase() === 'last-modified')?.[1]
  const fields = expiresFields(rule, modified === undefined ? undefined : parseHttpDate(modified), Date.now())
  if (fields === undefined) return headers
  // What was said before an inner redirect led here is said anew too.
  if (context.responseHeaders.length > 0) context.responseHeaders = context.responseHeaders.filter(isNotOfLifetime)
  return [...headers.filter(isNotOfLifetime), ['expires', fields.expires], ['cache-control', fields.cacheControl]]
}

function isNotOfLifetime([name]: readonly [name: string, value: string]): boolean {
  const lower = name.toLowerCase()
  return lower !== 'expires' && lower !== 'cache-control'
}
