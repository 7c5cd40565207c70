import type { EmittedError } from './isolate.ts'

/** Longest fields of an error of a site, in UTF-16 units. The guest cuts them before they cross, the thread again when it reads them. */
const MAX_FIELD_CHARS = { name: 256, message: 16_384, stack: 32_768, digest: 4_096, where: 4_096 } as const

/** Longest JSON of an `EmittedError`: escapes take up to six characters for one. */
const MAX_JSON_CHARS = 6 * Object.values(MAX_FIELD_CHARS).reduce((sum: number, chars) => sum + chars, 256)

function cut(text: string, maxChars: number): string {
  return text.length > maxChars ? `${text.slice(0, maxChars - 1)}…` : text
}

/** Shortens every field of an error to the length that may cross. */
export function cutError({ name, message, stack, digest, where }: EmittedError): EmittedError {
  return {
    name: cut(name, MAX_FIELD_CHARS.name),
    message: cut(message, MAX_FIELD_CHARS.message),
    stack: cut(stack, MAX_FIELD_CHARS.stack),
    ...(digest === undefined ? {} : { digest: cut(digest, MAX_FIELD_CHARS.digest) }),
    ...(where === undefined ? {} : { where: cut(where, MAX_FIELD_CHARS.where) }),
  }
}

/**
 * Reads the JSON of an `EmittedError` in the thread. Site code may have replaced the functions that wrote it, so each field is
 * checked and cut, and fields that an error does not have are dropped. Never throws.
 */
export function readEmittedError(json: string | undefined): EmittedError {
  const fields = parsedFields(json)
  const text = (name: keyof EmittedError): string | undefined => {
    const value = fields[name]
    return typeof value === 'string' ? value : undefined
  }
  const digest = text('digest')
  const where = text('where')
  return cutError({
    name: text('name') ?? 'Error',
    message: text('message') ?? 'The isolate reported an error that cannot be read',
    stack: text('stack') ?? '',
    ...(digest === undefined ? {} : { digest }),
    ...(where === undefined ? {} : { where }),
  })
}

function parsedFields(json: string | undefined): Readonly<Record<string, unknown>> {
  if (json === undefined || json.length > MAX_JSON_CHARS) return {}
  try {
    const value: unknown = JSON.parse(json)
    return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {}
  } catch {
    // Not JSON: the error is reported without its facts.
    return {}
  }
}
