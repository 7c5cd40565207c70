import type * as z from 'zod/mini'
import type { Fields } from './schemas.ts'

/** Errors by field. */
export interface FieldError {
  /** "paths[1]"; "" for the value itself. */
  readonly path: string
  readonly message: string
}

/** Values, or every mistake in them. */
type Parsed<Values> =
  | { readonly isOk: true; readonly values: Values }
  | { readonly isOk: false; readonly errors: readonly FieldError[] }

const MAX_LISTED = 20
/** Of a field that the request made up: the answer repeats it. */
const MAX_NAME_CHARS = 100

type Issue = z.core.$ZodIssue

function pathOf(path: readonly PropertyKey[]): string {
  return path.reduce<string>((text, key) => {
    if (typeof key === 'number') return `${text}[${key}]`
    return text === '' ? String(key) : `${text}.${String(key)}`
  }, '')
}

const typeNames: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'an integer',
  boolean: 'true or false',
  array: 'an array',
  object: 'a JSON object',
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((inner, key) => (inner as Record<PropertyKey, unknown> | undefined)?.[key], value)
}

function messageOf(issue: Issue, value: unknown): string {
  switch (issue.code) {
    case 'invalid_type': {
      const given = valueAt(value, issue.path)
      return given === undefined ? 'is missing' : `must be ${typeNames[issue.expected] ?? issue.expected}`
    }
    case 'invalid_value':
      return `must be one of: ${issue.values.map(String).join(', ')}`
    case 'too_small':
      if (issue.origin === 'string')
        return issue.minimum === 1 ? 'must not be empty' : `is shorter than ${issue.minimum} characters`
      return issue.origin === 'array' ? `has fewer than ${issue.minimum} items` : `must be at least ${issue.minimum}`
    case 'too_big':
      if (issue.origin === 'string') return `is longer than ${issue.maximum} characters`
      return issue.origin === 'array' ? `has more than ${issue.maximum} items` : `must be at most ${issue.maximum}`
    default:
      return issue.message
  }
}

/** The fields that the object at a path of the schema may have. */
function fieldsAt(schema: Fields, path: readonly PropertyKey[]): string[] {
  let inner: unknown = schema
  for (const key of path) inner = typeof key === 'number' ? bare(inner).def?.element : bare(inner).shape?.[String(key)]
  return Object.keys(bare(inner).shape ?? {})
}

interface SchemaParts {
  readonly def?: { readonly innerType?: unknown; readonly element?: unknown }
  readonly shape?: Readonly<Record<string, unknown>>
}

/** A schema without "optional" around it. */
function bare(schema: unknown): SchemaParts {
  const parts = (schema ?? {}) as SchemaParts
  return parts.def?.innerType === undefined ? parts : bare(parts.def.innerType)
}

function errorsOf(issue: Issue, schema: Fields, value: unknown): FieldError[] {
  const path = pathOf(issue.path)
  if (issue.code !== 'unrecognized_keys') return [{ path, message: messageOf(issue, value) }]
  const known = fieldsAt(schema, issue.path)
  const message = known.length === 0 ? 'is unknown: none is expected' : `is unknown; there are: ${known.join(', ')}`
  const shown = issue.keys.slice(0, MAX_LISTED).map((key) => key.slice(0, MAX_NAME_CHARS))
  return shown.map((key) => ({ path: pathOf([...issue.path, key]), message }))
}

/** Validates the JSON value of a body; no body is an empty object. */
export function parseBody<Schema extends Fields>(value: unknown, schema: Schema): Parsed<z.output<Schema>> {
  const result = schema.safeParse(value)
  if (result.success) return { isOk: true, values: result.data }
  const errors = result.error.issues.flatMap((issue) => errorsOf(issue, schema, value))
  return { isOk: false, errors: errors.slice(0, MAX_LISTED) }
}

/** Validates the parameters of a query, each of which may be given once. */
export function parseQuery<Schema extends Fields>(query: string, schema: Schema): Parsed<z.output<Schema>> {
  const entries = [...new URLSearchParams(query)]
  const names = new Set<string>()
  for (const [name] of entries) {
    if (names.has(name)) return { isOk: false, errors: [{ path: name.slice(0, MAX_NAME_CHARS), message: 'is given twice' }] }
    names.add(name)
  }
  return parseBody(Object.fromEntries(entries), schema)
}
