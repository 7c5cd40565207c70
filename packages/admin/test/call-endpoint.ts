import assert from 'node:assert/strict'
import type { Caller } from '@svc/auth'
import { type Problem, problemOf } from '@svc/http'
import { allEndpoints, EndpointTable, listEndpoints, parseBody, parseQuery } from '../src/index.ts'
import { FakePlane } from './fake-plane.ts'
import { undeclaredParts } from './malformed-requests.ts'
import { noRequest } from './request.ts'

const table = new EndpointTable(listEndpoints(allEndpoints))

export interface Called {
  readonly status: number
  readonly json: Record<string, unknown>
  readonly problem:
    | (Problem & { readonly errors?: ReadonlyArray<{ readonly path: string; readonly message: string }> })
    | undefined
  readonly plane: FakePlane
}

interface CallOptions {
  readonly caller?: Caller
  readonly method?: string
  readonly body?: unknown
  readonly host?: string
  readonly plane?: FakePlane
}

/** Calls an endpoint as a worker does once access and form of the request are settled. A success must fit the declared response. */
export async function callEndpoint(target: string, options: CallOptions = {}): Promise<Called> {
  const [path = '', query = ''] = target.split('?')
  const match = table.match(options.method ?? 'POST', path)
  assert.ok(match?.kind === 'endpoint', path)
  const { endpoint, params } = match
  const body = parseBody(options.body ?? {}, endpoint.body())
  const parsed = parseQuery(query, endpoint.query())
  assert.ok(body.isOk && parsed.isOk, JSON.stringify([body, parsed]))
  const plane = options.plane ?? new FakePlane()
  const caller = options.caller ?? noRequest.caller
  const request = {
    ...noRequest,
    caller,
    params,
    query: parsed.values,
    body: body.values,
    host: options.host ?? 'localhost:8080',
  }
  // As in a worker: an error that is none for clients fails the test.
  const result = await Promise.resolve()
    .then(() => endpoint.handle(plane, request))
    .catch((error: unknown) => {
      const problem = problemOf(error)
      if (problem.status === 500) throw error
      return { problem }
    })
  if ('problem' in result) return { status: result.problem.status, json: {}, problem: result.problem, plane }
  assert.ok('body' in result)
  const json: unknown = JSON.parse(result.body)
  assert.equal(undeclaredParts(endpoint, json), undefined, path)
  return { status: result.status, json: json as Record<string, unknown>, problem: undefined, plane }
}
