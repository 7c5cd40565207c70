import assert from 'node:assert/strict'
import { test } from 'node:test'
import { allEndpoints, listEndpoints } from '../packages/admin/src/index.ts'
import { endpointCases, nameOf } from '../packages/admin/test/endpoint-cases.ts'
import { undeclaredParts } from '../packages/admin/test/malformed-requests.ts'
import { readAll, startWithAll, walkEndpoints } from './endpoint-walk.ts'

const declared = new Map(listEndpoints(allEndpoints).map((endpoint) => [`${endpoint.method} ${endpoint.path}`, endpoint]))

/** Their cases name a restart and a flow that only the fake has. */
const ofFake = new Set(['/__svc/admin/api/workers/restart/:id', '/__svc/admin/api/flows/:request_id'])

test('a running server serves the endpoints of the table, and each answer is as declared', async (t) => {
  const server = await startWithAll(t)
  const rows = await readAll(server)
  const reading = [...declared.values()].filter(({ method }) => method === 'GET')
  assert.equal(rows.length, reading.length)
  const problems: string[] = []
  for (const { endpoint, answer } of rows) {
    const name = `${endpoint.method} ${endpoint.path}`
    if (answer.status === 404 && ofFake.has(endpoint.path)) continue
    const known = declared.get(name) ?? assert.fail(name)
    const parts = answer.json === undefined ? undefined : undeclaredParts(known, answer.json)
    const { status = 200 } = endpointCases[nameOf(endpoint)] ?? {}
    if (answer.status !== status || parts !== undefined) problems.push(`${name}: ${answer.status} ${parts}`)
  }
  assert.deepEqual(problems, [])
})

test('only the machine itself and users get past open endpoints, and no call of the walk is carried out', async (t) => {
  const server = await startWithAll(t)
  const rows = await walkEndpoints(server)
  assert.equal(rows.length, declared.size)
  for (const { endpoint, statuses } of rows) {
    const { method, path, access } = endpoint
    const { status: right = 200 } = endpointCases[nameOf(endpoint)] ?? {}
    const name = `${method} ${path}: ${JSON.stringify(statuses)}`
    if (access !== 'open') assert.ok([401, 404, 303].includes(statuses.elsewhere), name)
    if (method !== 'GET') assert.equal(statuses.root, 400, name)
    assert.ok(
      Object.values(statuses).every((status) => status < 500 || status === right),
      name,
    )
  }
})
