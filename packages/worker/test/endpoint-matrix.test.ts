import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { allEndpoints, type Endpoint, type EndpointGroup, listEndpoints } from '@svc/admin'
import { type EndpointCase, endpointCases, nameOf, namesTenantObject, prepareForCases } from '../../admin/test/endpoint-cases.ts'
import { malformedRequests, pathOf, queriesWithNumbers, targetOf, undeclaredParts } from '../../admin/test/malformed-requests.ts'
import { adminToml, bearer, type Username } from '../../auth/test/admin-users.ts'
import type { InjectOptions, MemoryResponse } from '../../engine/test/inject/index.ts'
import { PipelineServer, shop } from './pipeline-server.ts'

const OUTSIDE = '192.0.2.7'
const served = listEndpoints(allEndpoints)
/** Those with a case; a test names the others. */
const endpoints = served.filter((endpoint) => nameOf(endpoint) in endpointCases)

function caseOf(endpoint: Endpoint): EndpointCase {
  return endpointCases[nameOf(endpoint)] ?? assert.fail(`${nameOf(endpoint)} has a case`)
}

function isReserved({ path }: Endpoint): boolean {
  return path.startsWith('/__svc/')
}

const name = ({ method, path }: Endpoint) => `${method} ${path}`

/** The pipeline with users of each role, and all operations on its control plane by name. */
async function start(t: TestContext, more = ''): Promise<{ server: PipelineServer; operations: string[] }> {
  const server = await PipelineServer.start(t, [shop], `${adminToml.replace('admin = true', `admin = true\n${more}`)}`)
  prepareForCases(server.plane)
  server.health = async () => ({ status: 'healthy', uptime_secs: 1, checks: { render_pool: 'ok' } })
  const operations: string[] = []
  for (const [part, members] of Object.entries(server.plane)) {
    if (Array.isArray(members) || typeof members !== 'object') continue
    for (const [member, run] of Object.entries(members as Record<string, unknown>)) {
      if (typeof run !== 'function' || `${part}.${member}` === 'audit.add') continue
      Object.assign(members, {
        [member]: (...args: unknown[]) => {
          operations.push(`${part}.${member}`)
          return run(...args)
        },
      })
    }
  }
  return { server, operations }
}

/** Pages of the panel are on its hosts alone. */
function hostOf({ isPage }: Endpoint): string {
  return isPage === true ? 'localhost:8080' : 'shop.test'
}

/** Sends the request of a case. */
function send(
  server: PipelineServer,
  endpoint: Endpoint,
  options: Partial<InjectOptions>,
  right = caseOf(endpoint),
): Promise<MemoryResponse> {
  const { headers, ...others } = options
  const json = right.body === undefined ? {} : { 'content-type': 'application/json' }
  const text = right.upload ?? (right.body === undefined ? undefined : JSON.stringify(right.body))
  const body = text === undefined ? {} : { body: text }
  const fields = { ...json, ...headers }
  const target = { method: endpoint.method, host: hostOf(endpoint) }
  return server.get(targetOf(endpoint, right), { ...target, ...body, ...others, headers: fields })
}

/** Checks endpoints one after the other, and names all that fail. */
async function eachOf(list: readonly Endpoint[], check: (endpoint: Endpoint) => Promise<void>): Promise<void> {
  const problems: string[] = []
  for (const endpoint of list) {
    await check(endpoint).catch((error: Error) => problems.push(`${name(endpoint)}: ${error.message}`))
  }
  assert.deepEqual(problems, [])
}

test('every endpoint has a case, and every case an endpoint', () => {
  const names = new Set(served.map(nameOf))
  assert.deepEqual(
    [...names].filter((one) => !(one in endpointCases)),
    [],
    'without a case',
  )
  assert.deepEqual(
    Object.keys(endpointCases).filter((one) => !names.has(one)),
    [],
    'without an endpoint',
  )
})

/** A refusal as RFC 9457 has it, with the members that are always there. */
function problemOf({ status, headers, text }: MemoryResponse) {
  assert.equal(headers['content-type'], 'application/problem+json', text)
  const problem = JSON.parse(text)
  for (const member of ['type', 'title', 'code', 'detail', 'request_id'])
    assert.equal(typeof problem[member], 'string', `${member}: ${text}`)
  assert.match(problem.code, /^[a-z][a-z0-9_]*$/)
  assert.equal(problem.status, status)
  return problem
}

type Who = 'nobody' | Username

/**
 * Callers admitted, from elsewhere and from the machine itself, by access and by what tenants may. `in`: the endpoint answers; `site`: the
 * path is not the service's for this caller. "/x" is below the reserved space, "x" outside of it.
 */
const who: readonly [Who, 'elsewhere' | 'here'][] = [
  ['nobody', 'elsewhere'],
  ['nobody', 'here'],
  ['vera', 'elsewhere'],
  ['vera', 'here'],
  ['tom', 'elsewhere'],
  ['tom', 'here'],
  ['ida', 'elsewhere'],
  ['root', 'elsewhere'],
]
const statuses: Readonly<Record<string, readonly ('in' | 'site' | 401 | 403)[]>> = {
  open: ['in', 'in', 'in', 'in', 'in', 'in', 'in', 'in'],
  loopback: [401, 'in', 403, 'in', 403, 'in', 403, 'in'],
  'loopback outside': ['site', 'in', 403, 'in', 403, 'in', 403, 'in'],
  'loopback for tenants': [401, 'in', 403, 'in', 'in', 'in', 'in', 'in'],
  'viewer for tenants': [401, 401, 'in', 'in', 'in', 'in', 'in', 'in'],
  viewer: [401, 401, 'in', 'in', 403, 403, 403, 'in'],
  'tenant_admin for tenants': [401, 401, 403, 403, 'in', 'in', 'in', 'in'],
  super_admin: [401, 401, 403, 403, 403, 403, 403, 'in'],
  'super_admin outside': [401, 401, 403, 403, 403, 403, 403, 'in'],
}

function rowOf(endpoint: Endpoint): readonly ('in' | 'site' | 401 | 403)[] {
  const { access, isForTenants = access === 'viewer' || access === 'tenant_admin' } = endpoint
  const words = [
    access,
    ...(isForTenants ? ['for tenants'] : []),
    ...(access === 'open' || isReserved(endpoint) ? [] : ['outside']),
  ]
  return statuses[words.join(' ')] ?? assert.fail(`${name(endpoint)}: the table has a row for ${words.join(' ')}`)
}

for (const [index, [user, place]] of who.entries()) {
  test(`${user} from ${place} reaches what the declarations say, and changes nothing else`, async (t) => {
    const { server, operations } = await start(t)
    const credentials = user === 'nobody' ? {} : await bearer(user)
    await eachOf(endpoints, async (endpoint) => {
      operations.length = 0
      server.renderer.requests.length = 0
      const options = { headers: credentials, ...(place === 'here' ? {} : { remoteAddress: OUTSIDE }) }
      const response = await send(server, endpoint, options)
      const { status, headers, text } = response
      const expected = rowOf(endpoint)[index]
      const { status: right = 200, otherTenant = right } = caseOf(endpoint)
      const message = text.slice(0, 300)
      if (expected === 'in') {
        // From the machine itself the token does not count where none is needed.
        assert.equal(status, user === 'ida' && endpoint.access !== 'open' ? otherTenant : right, message)
      } else {
        assert.deepEqual(operations, [], message)
        assert.equal(server.renderer.requests.length > 0 || status === 404, expected === 'site', message)
        // A browser is sent to the login.
        if (endpoint.isPage && expected === 401) {
          assert.deepEqual([status, headers['location']?.split('?')[0]], [303, '/__svc/admin/login'])
        } else if (expected !== 'site') assert.equal(problemOf(response).status, expected, message)
      }
    })
  })
}

const forTenants = () => endpoints.filter((endpoint) => rowOf(endpoint)[6] === 'in' && endpoint.access !== 'open')

test('an endpoint that names something of a tenant answers 404 to another tenant', async (t) => {
  // A part that is missing has nothing that a request could name.
  const named = forTenants().filter((endpoint) => namesTenantObject(endpoint) && caseOf(endpoint).status !== 503)
  const { server, operations } = await start(t)
  await eachOf(named, async (endpoint) => {
    const { otherTenant, naming } = caseOf(endpoint)
    assert.ok(otherTenant !== undefined || naming !== undefined, 'the case says how a request names something of a tenant')
    const right = { ...caseOf(endpoint), ...naming }
    for (const [user, status] of [
      ['ida', 404],
      ['tom', right.status ?? 200],
    ] as const) {
      operations.length = 0
      const headers = await bearer(user)
      const response = await send(server, endpoint, { headers, remoteAddress: OUTSIDE }, right)
      assert.equal(response.status, status, `${user}: ${response.text}`)
      if (user === 'ida') problemOf(response)
      if (user === 'ida')
        assert.deepEqual(
          operations.filter((one) => !reading.has(one)),
          [],
        )
    }
  })
})

/** Operations that find out what a request names. */
const reading = new Set(['sites.list', 'sites.ofHost', 'entries.find', 'waf.rules', 'alerts.report', 'alerts.silences'])

test('no answer to a tenant names a site of another, nor its label or tenant', async (t) => {
  const { server } = await start(t)
  const foreign = { tom: /blog/, ida: /shop|blog|acme/ }
  // The components of the report name sites.
  server.health = async () => ({ status: 'degraded', uptime_secs: 1, checks: { render_pool: 'degraded: blog: crash loop' } })
  await eachOf(forTenants(), async (endpoint) => {
    for (const user of ['tom', 'ida'] as const) {
      const { status, text } = await send(server, endpoint, { headers: await bearer(user), remoteAddress: OUTSIDE })
      if (status < 300) assert.doesNotMatch(text, foreign[user], user)
    }
  })
})

test('a right request is answered as declared', async (t) => {
  const { server } = await start(t)
  const headers = await bearer('root')
  await eachOf(endpoints, async (endpoint) => {
    const { answer, status = 200 } = caseOf(endpoint)
    const response = await send(server, endpoint, { headers, remoteAddress: OUTSIDE })
    const message = response.text.slice(0, 500)
    assert.equal(response.status, status, message)
    const isAsset = endpoint.path === '/__svc/admin/assets/:file'
    assert.equal(response.headers['cache-control'], isAsset ? 'public, max-age=31536000, immutable' : 'no-store', message)
    if (endpoint.method === 'GET') {
      const asked = await send(server, endpoint, { method: 'HEAD', headers, remoteAddress: OUTSIDE })
      assert.deepEqual([asked.status, asked.text, asked.headers['content-type']], [status, '', response.headers['content-type']])
    }
    if (typeof answer === 'string') {
      assert.ok(response.text.includes(answer), message)
      return
    }
    assert.equal(response.headers['content-type'], status === 503 ? 'application/problem+json' : 'application/json', message)
    const json = JSON.parse(response.text)
    assert.partialDeepStrictEqual(json, answer, message)
    if (status === 503) return
    assert.equal(undeclaredParts(endpoint, json), undefined)
  })
})

test('a page of the panel is on no host of a site', async (t) => {
  const { server } = await start(t)
  await eachOf(
    endpoints.filter(({ isPage }) => isPage === true),
    async (endpoint) => {
      const { status, text } = await send(server, endpoint, { headers: await bearer('root'), host: 'shop.test' })
      assert.deepEqual([status, JSON.parse(text).code], [404, 'unknown_endpoint'])
    },
  )
})

test('another method is 405 with the right ones, before credentials; outside of the reserved space it is the site’s', async (t) => {
  const { server } = await start(t)
  await eachOf(endpoints, async (endpoint) => {
    const path = pathOf(endpoint.path, caseOf(endpoint).params)
    const allowed = endpoints.filter((other) => other.path === endpoint.path).map(({ method }) => method)
    for (const method of (['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'] as const).filter(
      (one) => !allowed.includes(one as never),
    )) {
      const response = await server.get(path, { method, remoteAddress: OUTSIDE })
      const message = `${method} ${path}`
      if (!isReserved(endpoint)) {
        assert.doesNotMatch(response.text, /unauthorized|method_not_allowed/, message)
        continue
      }
      assert.equal(problemOf(response).status, 405, message)
      const allow = allowed.flatMap((one) => (one === 'GET' ? ['GET', 'HEAD'] : [one]))
      assert.deepEqual(response.headers['allow'], allow.join(', '), message)
    }
  })
})

test('a malformed request is refused with the name of the field, and does nothing', async (t) => {
  const { server, operations } = await start(t)
  const headers = await bearer('root')
  await eachOf(endpoints, async (endpoint) => {
    const right = caseOf(endpoint)
    const path = pathOf(endpoint.path, right.params)
    for (const { why, query, body, contentType = 'application/json', status, field } of malformedRequests(endpoint, right)) {
      operations.length = 0
      const type = body === undefined ? {} : { 'content-type': contentType }
      const options = {
        method: endpoint.method,
        host: hostOf(endpoint),
        headers: { ...headers, ...type },
        remoteAddress: OUTSIDE,
      }
      const response = await server.get(`${path}${query}`, { ...options, ...(body === undefined ? {} : { body }) })
      const message = `${why}: ${response.text.slice(0, 300)}`
      assert.equal(response.status, status, message)
      const { code, errors = [] } = problemOf(response)
      assert.equal(code, { 400: 'invalid_request', 413: 'body_too_large', 415: 'unsupported_media_type' }[status], message)
      if (field !== undefined) {
        assert.ok(
          errors.some(({ path: named }: { path: string }) => named.split(/[.[]/)[0] === field),
          message,
        )
      }
      assert.deepEqual(operations, [], message)
    }
  })
})

test('numbers of a query are digits', async (t) => {
  const { server } = await start(t)
  const headers = await bearer('root')
  await eachOf(endpoints, async (endpoint) => {
    const right = caseOf(endpoint)
    for (const query of queriesWithNumbers(endpoint, right)) {
      const response = await server.get(pathOf(endpoint.path, right.params) + query, {
        method: endpoint.method,
        host: hostOf(endpoint),
        headers,
      })
      assert.equal(response.status, right.status ?? 200, response.text)
    }
  })
})

test('requests are refused for the role before they are read', async (t) => {
  const { server } = await start(t)
  await eachOf(endpoints, async (endpoint) => {
    const path = pathOf(endpoint.path, caseOf(endpoint).params)
    for (const { why, query, body, contentType = 'application/json' } of malformedRequests(endpoint, caseOf(endpoint))) {
      const row = rowOf(endpoint)
      const type = body === undefined ? {} : { 'content-type': contentType }
      const target = { method: endpoint.method, host: hostOf(endpoint), remoteAddress: OUTSIDE }
      const options = { ...target, ...(body === undefined ? {} : { body }) }
      const asVera = await server.get(`${path}${query}`, { ...options, headers: { ...(await bearer('vera')), ...type } })
      if (row[2] === 403) assert.equal(asVera.status, 403, `${name(endpoint)} with ${why}`)
      if (row[0] !== 401 || endpoint.isPage === true) continue
      const asNobody = await server.get(`${path}${query}`, { ...options, headers: type })
      assert.equal(asNobody.status, 401, `${name(endpoint)} with ${why}`)
    }
  })
})

const switched: readonly EndpointGroup[] = ['health', 'metrics', 'api', 'obs', 'admin']

for (const off of switched) {
  test(`without the group ${off} its endpoints are not there and not listed, and the others are`, async (t) => {
    const keys = switched.map((group) => `${group} = ${group !== off}`).join('\n')
    const panel = off === 'admin' ? '' : adminToml.slice(adminToml.indexOf('[admin]'))
    const server = await PipelineServer.start(t, [shop], `[endpoints]\n${keys}\n${panel}`)
    const listing = await server.get('/__svc/no-such-thing', { remoteAddress: OUTSIDE })
    const listed: Pick<Endpoint, 'method' | 'path' | 'group' | 'access'>[] = JSON.parse(listing.text).endpoints
    assert.deepEqual(
      listed.map(({ method, path, group, access }) => `${method} ${path} ${group} ${access}`).toSorted(),
      served
        .filter(({ group }) => group !== off)
        .map(({ method, path, group, access }) => `${method} ${path} ${group} ${access}`)
        .toSorted(),
    )
    const headers = off === 'admin' ? {} : await bearer('root')
    await eachOf(
      endpoints.filter(({ group }) => group === off),
      async (endpoint) => {
        const { status, text } = await send(server, endpoint, { headers })
        if (isReserved(endpoint)) assert.deepEqual([status, JSON.parse(text).code], [404, 'unknown_endpoint'], name(endpoint))
        else assert.doesNotMatch(text, /unauthorized|"ok":/, name(endpoint))
      },
    )
  })
}
