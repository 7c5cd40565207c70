import type { HeaderList } from '@svc/http'

/** All values of a field in one, as a recipient may join them (RFC 9110 section 5.3); undefined: there is none. */
export function joinedField(headers: HeaderList, wanted: string): string | undefined {
  let joined: string | undefined
  for (const [name, value] of headers) {
    if (name === wanted || (name.length === wanted.length && name.toLowerCase() === wanted)) {
      joined = joined === undefined ? value : `${joined}, ${value}`
    }
  }
  return joined
}

/** First value of a field by lower-case name. */
export function firstField(headers: HeaderList, wanted: string): string | undefined {
  for (const [name, value] of headers) {
    if (name === wanted || (name.length === wanted.length && name.toLowerCase() === wanted)) return value
  }
  return undefined
}
