import * as z from 'zod/mini'
import { type Endpoint, endpoint, jsonAnswer } from '../../contract/endpoint.ts'
import { openApiDocument } from '../../contract/openapi.ts'

/** The description of a list of endpoints, which this one is on. */
export function openApi(served: () => readonly Endpoint[]): Endpoint {
  return endpoint({
    method: 'GET',
    path: '/__svc/api/openapi.json',
    group: 'api',
    access: 'loopback',
    summary: 'OpenAPI 3.1 document of the endpoints that this server serves.',
    response: () => z.looseObject({ openapi: z.literal('3.1.0'), paths: z.record(z.string(), z.looseObject({})) }),
    handle: () => jsonAnswer(200, openApiDocument(served())),
  })
}
