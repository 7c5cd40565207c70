import assert from 'node:assert/strict'
import * as z from 'zod/mini'
import type { Endpoint } from '../src/index.ts'
import type { EndpointCase } from './endpoint-cases.ts'

const MAX_BODY_BYTES = 1024 * 1024

/** A request that an endpoint refuses for its form. */
export interface MalformedRequest {
  readonly why: string
  /** With "?", or empty. */
  readonly query: string
  readonly body?: string
  readonly contentType?: string
  readonly status: 400 | 413 | 415
  /** The field that the response names. */
  readonly field?: string
}

interface JsonSchema {
  readonly type?: string
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly pattern?: string
  readonly minimum?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly items?: JsonSchema
  readonly anyOf?: readonly JsonSchema[]
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly required?: readonly string[]
}

function wrongText({ pattern, minLength = 0, maxLength }: JsonSchema, name: string): string {
  if (pattern !== undefined) return '\n'
  if (minLength > 0) return ''
  assert.ok(maxLength !== undefined, `${name} takes a text of any length`)
  return 'x'.repeat(maxLength + 1)
}

/** A value of a parameter of a query that its declaration excludes. */
function wrongParameter(schema: JsonSchema, name: string): string {
  const { type, anyOf: [first] = [] } = schema
  if (first !== undefined) return wrongParameter(first, name)
  if (schema.enum !== undefined || schema.const !== undefined) return 'no such word'
  if (type === 'string') return wrongText(schema, name)
  assert.ok(type === 'integer' || type === 'number', `${name} declares its type`)
  return 'x'
}

/** Values of a field of a body that its declaration excludes. */
function wrongValues(schema: JsonSchema, name: string): unknown[] {
  const { type, items, anyOf: [first] = [] } = schema
  if (first !== undefined) return [{ no_such_field: 1 }]
  if (schema.enum !== undefined || schema.const !== undefined) return ['no such word', 7]
  switch (type) {
    case 'string':
      // A longer text would be refused for the size of the body.
      return [7, ['a'], ...((schema.maxLength ?? 0) < MAX_BODY_BYTES ? [wrongText(schema, name)] : [])]
    case 'array':
      return ['a', ...wrongValues(items ?? {}, `${name}[]`).map((value) => [value])]
    case 'integer':
    case 'number':
      return ['a', '1', true, [1]]
    case 'boolean':
      return ['true', 1]
    case 'object':
      return ['a', ['a']]
    default:
      return assert.fail(`${name} declares its type`)
  }
}

function fieldsOf(schema: z.ZodMiniType): [fields: [string, JsonSchema][], required: readonly string[]] {
  const { properties = {}, required = [] } = z.toJSONSchema(schema, { io: 'input' }) as JsonSchema
  return [Object.entries(properties), required]
}

function queryText(query: Readonly<Record<string, string>>): string {
  const text = `${new URLSearchParams(query)}`
  return text === '' ? '' : `?${text}`
}

function without<Value>(fields: Readonly<Record<string, Value>>, name: string): Record<string, Value> {
  const { [name]: _, ...others } = fields
  return others
}

/** Queries that give each number of a declaration as digits. */
export function queriesWithNumbers({ query: schema }: Endpoint, { query: right = {} }: EndpointCase): string[] {
  const [fields] = fieldsOf(schema())
  const numbers = fields.filter(([, { type }]) => type === 'integer' || type === 'number')
  return numbers.map(([name, { minimum = 1 }]) => queryText({ ...right, [name]: `${minimum}` }))
}

function malformedQueries({ query: schema }: Endpoint, { query: right = {} }: EndpointCase): MalformedRequest[] {
  const [fields, required] = fieldsOf(schema())
  const takesAny = z.toJSONSchema(schema(), { io: 'input' }).additionalProperties !== false
  const refused = (why: string, query: string, field: string) => ({ why, query, status: 400, field }) as const
  return [
    ...(takesAny ? [] : [refused('an unknown parameter', queryText({ ...right, no_such_field: '1' }), 'no_such_field')]),
    ...fields.flatMap(([name, one]) => [
      refused(`a wrong ${name}`, queryText({ ...right, [name]: wrongParameter(one, name) }), name),
      refused(`${name} given twice`, `?${new URLSearchParams([...Object.entries(right), [name, '1'], [name, '1']])}`, name),
    ]),
    ...required.map((name) => refused(`no ${name}`, queryText(without(right, name)), name)),
  ]
}

function malformedUploads({ query: parameters = {}, upload: body = '' }: EndpointCase): MalformedRequest[] {
  const query = queryText(parameters)
  return [
    { why: 'no body', query, status: 400 },
    ...['text/plain', 'application/json', 'multipart/form-data; boundary=a'].map(
      (contentType) => ({ why: `the type ${contentType}`, query, body, contentType, status: 415 }) as const,
    ),
  ]
}

function malformedBodies(
  { body: schema }: Endpoint,
  { query: parameters = {}, body: right = {} }: EndpointCase,
): MalformedRequest[] {
  const [fields, required] = fieldsOf(schema())
  const query = queryText(parameters)
  const json = JSON.stringify(right)
  const refused = (why: string, body: unknown, field: string) =>
    ({ why, query, body: JSON.stringify(body), status: 400, field }) as const
  return [
    refused('an unknown field', { ...right, no_such_field: 1 }, 'no_such_field'),
    ...fields.flatMap(([name, one]) =>
      wrongValues(one, name).map((value) =>
        refused(`a wrong ${name}: ${JSON.stringify(value).slice(0, 40)}`, { ...right, [name]: value }, name),
      ),
    ),
    ...required.map((name) => refused(`no ${name}`, without(right, name), name)),
    ...['[]', '"a"', 'null', '7'].map((body) => ({ why: `the body ${body}`, query, body, status: 400 }) as const),
    ...['{', `${json},`, '\u0000'].map((body) => ({ why: 'no JSON', query, body, status: 400 }) as const),
    ...['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=a', ''].map(
      (contentType) => ({ why: `the type ${contentType}`, query, body: json, contentType, status: 415 }) as const,
    ),
    { why: 'a body over 1 MiB', query, body: json.padEnd(MAX_BODY_BYTES + 1), status: 413 },
  ]
}

/** Requests that differ in one thing from one that an endpoint carries out. Probes read nothing of a request. */
export function malformedRequests(endpoint: Endpoint, right: EndpointCase): MalformedRequest[] {
  const { group, method } = endpoint
  if (group === 'health' || group === 'metrics') return []
  if (endpoint.isUpload === true) return [...malformedQueries(endpoint, right), ...malformedUploads(right)]
  return [...malformedQueries(endpoint, right), ...(method === 'GET' ? [] : malformedBodies(endpoint, right))]
}

/** Differences between the JSON of a response and its declaration, fields that are not declared included. */
export function undeclaredParts({ response }: Endpoint, json: unknown): string | undefined {
  if (response === undefined) return 'no response is declared'
  const parsed = z.safeParse(response(), json)
  if (!parsed.success) return JSON.stringify(parsed.error.issues)
  const extra = differences(json, parsed.data, '')
  return extra.length === 0 ? undefined : `undeclared: ${extra.join(', ')}`
}

function differences(given: unknown, declared: unknown, path: string): string[] {
  if (typeof given !== 'object' || given === null) return []
  return Object.entries(given).flatMap(([name, value]) => {
    const inner = (declared as Record<string, unknown> | undefined)?.[name]
    return inner === undefined ? [`${path}${name}`] : differences(value, inner, `${path}${name}.`)
  })
}

/** The target of the request that an endpoint carries out. */
export function targetOf({ path }: Pick<Endpoint, 'path'>, { params = {}, query = {} }: EndpointCase): string {
  return pathOf(path, params) + queryText(query)
}

/** A path with its parameters filled in. */
export function pathOf(path: string, params: Readonly<Record<string, string>> = {}): string {
  return path.replaceAll(/:(\w+)/g, (_, name) => params[name] ?? assert.fail(`the case of ${path} has no ${name}`))
}
