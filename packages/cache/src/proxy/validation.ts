import type { HeaderList } from '@svc/http'
import { firstField } from './field-list.ts'
import { storedFields } from './storable.ts'

/** Fields that describe the stored body, which a 304 does not replace (RFC 9111 section 3.2). */
const OF_BODY: ReadonlySet<string> = new Set(['content-encoding', 'content-length', 'content-md5', 'content-range', 'etag'])
/** Fields by which a client asks for a part of a response, or only for a changed one (RFC 9110 sections 13.1 and 14.2). */
export const CONDITIONAL_FIELDS: ReadonlySet<string> = new Set([
  'if-match',
  'if-modified-since',
  'if-none-match',
  'if-range',
  'if-unmodified-since',
  'range',
])

/** The fields of a request for the whole of a response, on condition that a stored one is not valid any more. */
export function validatingFields(request: HeaderList, stored: HeaderList | undefined): HeaderList {
  const fields = request.filter(([name]) => !CONDITIONAL_FIELDS.has(name))
  const etag = stored && firstField(stored, 'etag')
  const modified = stored && firstField(stored, 'last-modified')
  if (etag !== undefined) fields.push(['if-none-match', etag])
  if (modified !== undefined) fields.push(['if-modified-since', modified])
  return fields
}

/** The fields of a stored response after a 304 said that it is still valid (RFC 9111 section 3.2). */
export function freshenedFields(stored: HeaderList, update: HeaderList): HeaderList {
  const taken = storedFields(update).filter(([name]) => !OF_BODY.has(name) && name !== 'set-cookie')
  // When the stored response was made says nothing of how old it is now.
  const names = new Set(['date', ...taken.map(([name]) => name)])
  return [...stored.filter(([name]) => !names.has(name)), ...taken]
}
