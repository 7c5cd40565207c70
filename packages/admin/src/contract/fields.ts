/** Type of a field of a request body, or of a parameter of a query. */
export interface Field {
  readonly type: 'string' | 'string[]'
  /** `path`: an absolute URL path; `directory` and `file`: absolute on this machine. */
  readonly format?: 'path' | 'file' | 'directory' | 'flag'
  readonly isRequired?: boolean
  readonly description: string
}

/** The fields of a body or query by name. Others are refused. */
export type FieldSchema = Readonly<Record<string, Field>>

/** Values that fit their schema. */
export type FieldValues = Readonly<Record<string, string | readonly string[] | undefined>>

/** Errors by field. */
export interface FieldError {
  readonly path: string
  readonly message: string
}

/** Values, or every mistake in them. */
type ParsedFields =
  | { readonly isOk: true; readonly values: FieldValues }
  | { readonly isOk: false; readonly errors: readonly FieldError[] }

const MAX_LISTED = 20

function formatProblem(value: string, { format }: Field): string | undefined {
  if (format === 'flag') return value === '0' || value === '1' ? undefined : 'must be 0 or 1'
  if (format === undefined) return value === '' ? 'must not be empty' : undefined
  if (value.startsWith('/')) return undefined
  return format === 'path' ? 'must be a path that begins with "/"' : `must be an absolute path of a ${format}`
}

function valueErrors(name: string, value: unknown, field: Field): FieldError[] {
  if (field.type === 'string') {
    const problem = typeof value === 'string' ? formatProblem(value, field) : 'must be a string'
    return problem === undefined ? [] : [{ path: name, message: problem }]
  }
  if (!Array.isArray(value)) return [{ path: name, message: 'must be an array of strings' }]
  return value.flatMap((item, index) => valueErrors(`${name}[${index}]`, item, { ...field, type: 'string' }))
}

function unknownError(name: string, schema: FieldSchema): FieldError {
  const known = Object.keys(schema)
  return {
    path: name,
    message: known.length === 0 ? 'is unknown: none is expected' : `is unknown; there are: ${known.join(', ')}`,
  }
}

function check(entries: readonly (readonly [string, unknown])[], schema: FieldSchema): FieldError[] {
  const given = new Map(entries)
  const own = entries.flatMap(([name, value]) => {
    const field = Object.hasOwn(schema, name) ? schema[name] : undefined
    return field === undefined ? [unknownError(name, schema)] : valueErrors(name, value, field)
  })
  const missing = Object.entries(schema)
    .filter(([name, field]) => field.isRequired === true && !given.has(name))
    .map(([name]) => ({ path: name, message: 'is missing' }))
  return [...own, ...missing].slice(0, MAX_LISTED)
}

function settle(entries: readonly (readonly [string, unknown])[], schema: FieldSchema): ParsedFields {
  const errors = check(entries, schema)
  return errors.length > 0 ? { isOk: false, errors } : { isOk: true, values: Object.fromEntries(entries) as FieldValues }
}

/** Checks the JSON value of a body; no body is an empty object. */
export function parseBody(value: unknown, schema: FieldSchema): ParsedFields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return { isOk: false, errors: [{ path: '', message: 'must be a JSON object' }] }
  }
  return settle(Object.entries(value), schema)
}

/** Checks the parameters of a query, each of which may be given once. */
export function parseQuery(query: string, schema: FieldSchema): ParsedFields {
  const entries = [...new URLSearchParams(query)]
  const names = entries.map(([name]) => name)
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined) return { isOk: false, errors: [{ path: twice, message: 'is given twice' }] }
  return settle(entries, schema)
}

/** Returns a field whose type is string. */
export function stringOf(values: FieldValues, name: string): string | undefined {
  const value = values[name]
  return typeof value === 'string' ? value : undefined
}

/** Returns a field whose type is a list. */
export function listOf(values: FieldValues, name: string): readonly string[] | undefined {
  const value = values[name]
  return typeof value === 'object' ? value : undefined
}
