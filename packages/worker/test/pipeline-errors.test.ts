import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AppError, CoreError } from '@svc/core'
import { waitFor } from '@svc/testkit'
import { complete, streamed } from './canned-renderer.ts'
import { PipelineServer, shop } from './pipeline-server.ts'

/** Refusals of a render host, with the client's response. */
const refusals: [code: string, status: number | undefined, answered: number][] = [
  ['RENDER_COMPILE', 500, 500],
  ['RENDER_RESOLVE', 500, 500],
  ['RENDER_FAILED', 500, 500],
  ['RENDER_TIMEOUT', 504, 504],
  ['RENDER_MEMORY', 500, 500],
  ['RENDER_ISOLATE_LOST', 502, 502],
  ['RENDER_QUEUE_FULL', 503, 503],
  ['RENDER_UNKNOWN_SITE', 503, 503],
  ['RENDER_UNKNOWN_ROUTE', 404, 404],
  ['RENDER_DRAINING', 503, 503],
  ['RENDER_UNAUTHORIZED', undefined, 500],
  ['RENDER_GUEST', 500, 500],
]

test('each failure of a render has its status, an id, and no message', async (t) => {
  const server = await PipelineServer.start(t)
  for (const [code, status, answered] of refusals) {
    const error = new AppError(code, `the secret of ${code}`, status === undefined ? {} : { status })
    server.renderer.answer = ({ sink }) => sink.fail(error)
    const response = await server.get('/')
    assert.equal(response.status, answered, code)
    assert.equal(PipelineServer.codeOf(response), status === undefined ? 'internal_error' : code.toLowerCase())
    assert.doesNotMatch(response.text + JSON.stringify(response.headers), /secret/)
    assert.equal(response.headers['retry-after'], answered === 503 ? '1' : undefined, code)
    const failure = server.failures.at(-1)
    assert.deepEqual(failure, { requestId: response.headers['x-request-id'], message: error.message, status: answered })
    assert.equal(JSON.parse(response.text).request_id, failure.requestId)
  }
})

test('an unavailable host is 502, and a response without a head is an internal error', async (t) => {
  const server = await PipelineServer.start(t)
  server.renderer.answer = ({ sink }) => sink.fail(new CoreError('CORE_PEER_GONE', 'gone'))
  assert.equal((await server.get('/')).status, 502)
  server.renderer.answer = ({ sink }) => sink.complete(streamed, undefined)
  assert.equal(PipelineServer.codeOf(await server.get('/')), 'internal_error')
})

test('a site that cannot be described fails with the reason of the host, on every path of its own', async (t) => {
  const server = await PipelineServer.start(t)
  server.renderer.beforeDescribe = () => Promise.reject(new AppError('WORKER_NO_HOST', 'no host', { status: 503 }))
  const response = await server.get('/')
  assert.equal(response.status, 503)
  assert.equal(response.headers['retry-after'], '1')
  server.renderer.beforeDescribe = async () => undefined
  assert.equal((await server.get('/')).status, 200)
})

test('a failure in the middle of a stream cuts it and is written down', async (t) => {
  const server = await PipelineServer.start(t)
  server.renderer.answer = ({ sink }) => {
    sink.head({ status: 200, headers: [] })
    sink.chunk(Buffer.from('begun'), () => undefined)
    sink.fail(new AppError('RENDER_TIMEOUT', 'too slow', { status: 504 }))
  }
  const response = await server.get('/')
  assert.equal(response.status, 200)
  assert.equal(response.text, 'begun')
  assert.ok(response.aborted)
  assert.deepEqual(server.failures, [{ requestId: 'id-1', message: 'too slow', status: 504 }])
})

const stale = () => new AppError('RENDER_STALE_MANIFEST', 'stale', { status: 503 })

test('a render with an old manifest is matched again with the new one', async (t) => {
  const server = await PipelineServer.start(t)
  server.renderer.version = 'old'
  await server.get('/')
  server.renderer.version = 'new'
  server.renderer.answer = ({ request, sink }) => {
    if (request.manifestVersion === 'old') sink.fail(stale())
    else sink.complete(complete(), Buffer.from('fresh'))
  }
  const response = await server.get('/')
  assert.equal(response.text, 'fresh')
  assert.deepEqual(server.failures, [])
})

test('a site that never settles is an error after a few tries', async (t) => {
  const server = await PipelineServer.start(t)
  server.renderer.answer = ({ sink }) => sink.fail(stale())
  const response = await server.get('/')
  assert.equal(response.status, 503)
  assert.equal(PipelineServer.codeOf(response), 'render_stale_manifest')
  assert.equal(server.renderer.requests.length, 4)
})

test('a request with a body is matched again too: with an old manifest nothing of the body has been read', async (t) => {
  const server = await PipelineServer.start(t)
  server.renderer.version = 'old'
  await server.get('/')
  server.renderer.version = 'new'
  server.renderer.answer = ({ request, body, sink }) => {
    if (request.manifestVersion === 'old') {
      sink.fail(stale())
      return
    }
    let text = ''
    body?.read(
      (chunk, ack) => {
        text += Buffer.from(chunk).toString()
        ack()
      },
      () => sink.complete(complete(), Buffer.from(`taken ${text}`)),
    )
  }
  assert.equal((await server.get('/api', { method: 'POST', body: 'a=1' })).text, 'taken a=1')
})

test('while no render host is connected, requests for the routes of a site wait in a bounded number', async (t) => {
  const server = await PipelineServer.start(t, [shop], '[render]\nqueue_max = 2')
  const host = Promise.withResolvers<void>()
  server.renderer.isUp = false
  server.renderer.beforeDescribe = () => host.promise
  const leaving = new AbortController()
  const waiting = [server.get('/'), server.get('/', { signal: leaving.signal })]
  await waitFor('the question', () => server.renderer.describes === 1)
  const refused = await server.get('/')
  assert.deepEqual([refused.status, refused.headers['retry-after']], [503, '1'])
  assert.equal(PipelineServer.codeOf(refused), 'worker_queue_full')
  // The place of a client that leaves is free at once.
  leaving.abort()
  assert.ok((await waiting[1])?.aborted)
  const next = server.get('/')
  assert.equal((await server.get('/')).status, 503)
  server.renderer.isUp = true
  const third = server.get('/')
  host.resolve()
  for (const answer of [waiting[0], next, third]) assert.equal((await answer)?.status, 200)
  assert.equal(server.renderer.describes, 1)
})

test('a site whose files change with every scan is still answered', async (t) => {
  const server = await PipelineServer.start(t)
  server.renderer.beforeDescribe = async () => server.generation.sites.get('shop')?.forget()
  assert.equal((await server.get('/')).status, 200)
  assert.equal(server.renderer.describes, 3)
  await server.get('/')
  assert.equal(server.renderer.describes, 6)
})
