import { createHash } from 'node:crypto'
import type { HeaderList } from '@svc/http'
import { joinedField } from './field-list.ts'

/** Responses that depend on more fields than this are not stored. */
const MAX_FIELDS = 16

/** The fields of requests that a response depends on: lower case, each once, in order. `*`: on unknown inputs. */
export function varyFields(headers: HeaderList): readonly string[] | '*' {
  const value = joinedField(headers, 'vary')
  if (value === undefined) return []
  const names = value.split(',').flatMap((name) => (name.trim() === '' ? [] : [name.trim().toLowerCase()]))
  if (names.includes('*')) return '*'
  const unique = [...new Set(names)].sort()
  return unique.length > MAX_FIELDS ? '*' : unique
}

/**
 * Names what a request says in fields (RFC 9111 section 4.1). Two requests that say the same apart from blanks, and for codings
 * and languages from case, have the same name.
 */
export function variantOf(fields: readonly string[], request: HeaderList): string {
  const hash = createHash('sha256')
  for (const field of fields) {
    const value = joinedField(request, field)
    const text = value === undefined ? '-' : `=${normalized(field, value)}`
    hash.update(`${field}\0${text.length}\0${text}`)
  }
  return hash.digest('base64url')
}

function normalized(field: string, value: string): string {
  const members = value.split(',').map((member) =>
    member
      .trim()
      .replaceAll(/[\t ]+/g, ' ')
      .replaceAll(/ ?([;=]) ?/g, '$1'),
  )
  const isPlain = field === 'accept-encoding' || field === 'accept-language'
  const kept = isPlain ? members.filter((member) => member !== '').map((member) => member.toLowerCase()) : members
  // The order of codings says nothing; that of languages is read by some servers.
  return (field === 'accept-encoding' ? kept.sort() : kept).join(',')
}
