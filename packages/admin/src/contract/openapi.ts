import * as z from 'zod/mini'
import type { Endpoint } from './endpoint.ts'

type Json = Readonly<Record<string, unknown>>

const description = `Endpoints that this server serves. Each names its access: open, loopback (the machine itself), or the role that
the user of a bearer token or of a session cookie needs at least.`

/** RFC 9457. */
const problem: Json = {
  type: 'object',
  required: ['type', 'title', 'status', 'code', 'request_id'],
  properties: {
    type: { type: 'string' },
    title: { type: 'string' },
    status: { type: 'integer' },
    code: { type: 'string', description: 'Stable word in snake_case.' },
    detail: { type: 'string' },
    request_id: { type: 'string' },
    errors: {
      type: 'array',
      items: {
        type: 'object',
        required: ['path', 'message'],
        properties: { path: { type: 'string' }, message: { type: 'string' } },
      },
    },
  },
}

function schemaOf(schema: z.ZodMiniType, io: 'input' | 'output'): Json {
  const { $schema: _, ...json } = z.toJSONSchema(schema, { io })
  return json
}

function parametersOf({ path, query }: Endpoint): Json[] {
  const inPath = [...path.matchAll(/:([a-z_]+)/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }))
  const { properties = {}, required = [] } = schemaOf(query(), 'input') as {
    readonly properties?: Readonly<Record<string, Json>>
    readonly required?: readonly string[]
  }
  const inQuery = Object.entries(properties).map(([name, schema]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    description: schema['description'],
    schema,
  }))
  return [...inPath, ...inQuery]
}

function bodyOf({ method, body, isUpload }: Endpoint): Json {
  if (isUpload === true) return { requestBody: { required: true, content: { 'application/gzip': {} } } }
  const schema = body()
  if (method === 'GET' || Object.keys(schema.shape).length === 0) return {}
  return { requestBody: { content: { 'application/json': { schema: schemaOf(schema, 'input') } } } }
}

function operationOf(endpoint: Endpoint): Json {
  const { method, path, group, access, summary, response } = endpoint
  const content = response === undefined ? undefined : { 'application/json': { schema: schemaOf(response(), 'output') } }
  return {
    operationId: `${method.toLowerCase()}${path.replaceAll(/[^a-zA-Z0-9]+/g, '_')}`,
    tags: [group],
    summary,
    ...(access === 'open' ? { security: [] } : { description: `Access: ${access}.` }),
    parameters: parametersOf(endpoint),
    ...bodyOf(endpoint),
    responses: {
      '2XX': { description: 'Success.', ...(content === undefined ? {} : { content }) },
      default: {
        description: 'Failure (RFC 9457).',
        content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/problem' } } },
      },
    },
  }
}

/** The OpenAPI 3.1 document of a list of endpoints. */
export function openApiDocument(endpoints: readonly Endpoint[]): Json {
  const paths: Record<string, Record<string, Json>> = {}
  for (const endpoint of endpoints) {
    const path = endpoint.path.replaceAll(/:([a-z_]+)/g, '{$1}')
    paths[path] = { ...paths[path], [endpoint.method.toLowerCase()]: operationOf(endpoint) }
  }
  return {
    openapi: '3.1.0',
    info: { title: 'svc', version: '1', description },
    servers: [{ url: '/' }],
    security: [{ bearer: [] }, { session: [] }],
    paths,
    components: {
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
        session: { type: 'apiKey', in: 'cookie', name: 'SVC_ADMIN' },
      },
      schemas: { problem },
    },
  }
}
