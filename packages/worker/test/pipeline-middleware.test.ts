import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AppError } from '@svc/core'
import { type CannedRender, complete, streamed, verdict } from './canned-renderer.ts'
import { PipelineServer, shop } from './pipeline-server.ts'

const guarded = { ...shop, files: { ...shop.files, 'middleware.ts': '', 'public/a.txt': 'the file' } }

/** Answers middleware by `decide`, and everything else with its kind, route and URL. */
function afterMiddleware(decide: (render: CannedRender) => void) {
  return (render: CannedRender) => {
    const { request, sink } = render
    if (request.kind === 'middleware') decide(render)
    else sink.complete(complete(), Buffer.from(`${request.kind} ${request.route} ${request.url}`))
  }
}

test('middleware that passes on lets files and routes answer, with the fields it sets', async (t) => {
  const server = await PipelineServer.start(t, [guarded])
  server.renderer.answer = afterMiddleware(({ sink }) => {
    const responseHeaders: [string, string][] = [
      ['x-seen', 'yes'],
      ['Content-Type', 'text/x-changed'],
      ['set-cookie', 'a=1'],
      ['set-cookie', 'b=2'],
      ['set-cookie', 'SVC_ADMIN=of-a-site'],
    ]
    sink.complete(verdict({ action: 'next', responseHeaders }), undefined)
  })
  for (const path of ['/', '/a.txt', '/items/1/', '/nowhere', '/items/1']) {
    const response = await server.get(path)
    assert.equal(response.headers['x-seen'], 'yes', path)
    assert.deepEqual(
      response.headerList.filter(([name]) => name === 'content-type').map(([, value]) => value),
      ['text/x-changed'],
    )
    assert.deepEqual(
      response.headerList.filter(([name]) => name === 'set-cookie').map(([, value]) => value),
      ['a=1', 'b=2'],
    )
  }
})

test('middleware sees no body and its changes to the fields reach the route', async (t) => {
  const server = await PipelineServer.start(t, [guarded])
  const bodies: string[] = []
  server.renderer.answer = ({ request, body, sink }) => {
    bodies.push(`${request.kind} ${body?.isPresent === true}`)
    if (request.kind === 'middleware')
      sink.complete(verdict({ action: 'next', requestHeaders: [['x-added', 'by middleware']] }), undefined)
    else sink.complete(complete(), Buffer.from('done'))
  }
  assert.equal((await server.get('/api', { method: 'POST', body: 'a=1' })).text, 'done')
  assert.deepEqual(bodies, ['middleware false', 'handler true'])
  assert.deepEqual(server.renderer.requests[1]?.headers, [['x-added', 'by middleware']])
})

test('middleware does not hide through where a request came', async (t) => {
  const server = await PipelineServer.start(t, [guarded])
  server.renderer.answer = ({ request, sink }) => {
    if (request.kind === 'middleware')
      sink.complete(
        verdict({
          action: 'next',
          requestHeaders: [
            ['CDN-Loop', 'made up'],
            ['x', 'y'],
          ],
        }),
        undefined,
      )
    else sink.complete(complete(), Buffer.from('done'))
  }
  await server.get('/', { headers: { 'cdn-loop': ['svc;a', 'svc;b'] } })
  assert.deepEqual(server.renderer.requests[1]?.headers, [
    ['x', 'y'],
    ['cdn-loop', 'svc;a'],
    ['cdn-loop', 'svc;b'],
  ])
})

test('a rewrite changes what answers, file or route, and what the route sees', async (t) => {
  const server = await PipelineServer.start(t, [guarded])
  server.renderer.answer = afterMiddleware(({ request, sink }) => {
    const url = new URL(new URL(request.url).searchParams.get('to') ?? '/', request.url).href
    sink.complete(verdict({ action: 'rewrite', url }), undefined)
  })
  assert.equal((await server.get('/x?to=/a.txt')).text, 'the file')
  assert.equal((await server.get('/x?to=/items/9%3Fq=1')).text, 'page page:/items/[id] http://shop.test/items/9?q=1')
  assert.match((await server.get('/?to=/nowhere')).text, /^not-found /)
})

test('a rewrite to another host or to no URL is refused and does not fall through', async (t) => {
  const server = await PipelineServer.start(t, [guarded])
  const cases: [url: string, status: number, code: string][] = [
    ['http://elsewhere.test/', 501, 'external_rewrite'],
    ['http://shop.test:81/', 501, 'external_rewrite'],
    ['not a url', 500, 'bad_rewrite'],
    ['mailto:someone@shop.test', 500, 'bad_rewrite'],
  ]
  for (const [url, status, code] of cases) {
    server.renderer.answer = afterMiddleware(({ sink }) => sink.complete(verdict({ action: 'rewrite', url }), undefined))
    const response = await server.get('/')
    assert.equal(response.status, status, url)
    assert.equal(PipelineServer.codeOf(response), code)
  }
  assert.ok(server.renderer.requests.every(({ kind }) => kind === 'middleware'))
})

test('middleware may answer itself, whole or streamed', async (t) => {
  const server = await PipelineServer.start(t, [guarded])
  server.renderer.answer = ({ sink }) => {
    const middleware = { action: 'respond' } as const
    sink.complete({ ...complete(307, [['location', '/login']]), middleware }, undefined)
  }
  const redirected = await server.get('/a.txt')
  assert.equal(redirected.status, 307)
  assert.equal(redirected.headers['location'], '/login')
  server.renderer.answer = ({ sink }) => {
    sink.head({ status: 403, headers: [['content-type', 'text/plain']] })
    sink.chunk(Buffer.from('go '), () => undefined)
    sink.chunk(Buffer.from('away'), () => undefined)
    sink.end(streamed)
  }
  const refused = await server.get('/')
  assert.equal(refused.status, 403)
  assert.deepEqual(refused.chunks.map(String), ['go ', 'away'])
})

test('a failing middleware answers with an error and nothing behind it runs', async (t) => {
  const server = await PipelineServer.start(t, [guarded])
  server.renderer.answer = ({ sink }) => sink.fail(new AppError('RENDER_FAILED', 'secret', { status: 500 }))
  const response = await server.get('/a.txt')
  assert.equal(response.status, 500)
  assert.doesNotMatch(response.text, /secret/)
  assert.equal(server.renderer.requests.length, 1)
})

test('middleware with an old manifest is run again with the new one, a few times', async (t) => {
  const server = await PipelineServer.start(t, [guarded])
  let refusals = 2
  server.renderer.answer = afterMiddleware(({ sink }) => {
    if (refusals-- > 0) sink.fail(new AppError('RENDER_STALE_MANIFEST', 'stale', { status: 503 }))
    else sink.complete(verdict({ action: 'next' }), undefined)
  })
  assert.equal((await server.get('/a.txt')).text, 'the file')
  assert.equal(server.renderer.describes, 3)
  refusals = 100
  const response = await server.get('/a.txt')
  assert.equal(response.status, 503)
  assert.equal(PipelineServer.codeOf(response), 'worker_site_unsettled')
})

test('a matcher decides by what the site may see, not by what the client claims', async (t) => {
  const server = await PipelineServer.start(t, [guarded])
  server.renderer.matcher = [
    { source: '/:path*', has: [{ type: 'header', key: 'x-forwarded-proto', value: 'https' }] },
    { source: '/:path*', has: [{ type: 'cookie', key: 'SVC_ADMIN' }] },
    { source: '/:path*', has: [{ type: 'host', value: 'www.shop.test' }] },
    { source: '/:path*', has: [{ type: 'query', key: 'preview', value: '1' }] },
  ]
  const runs = async (url: string, headers: Record<string, string>, host = 'shop.test') => {
    const before = server.renderer.requests.length
    await server.get(url, { headers, host })
    return server.renderer.requests[before]?.kind === 'middleware'
  }
  server.renderer.answer = afterMiddleware(({ sink }) => sink.complete(verdict({ action: 'next' }), undefined))
  assert.equal(await runs('/', { 'x-forwarded-proto': 'https' }), false)
  assert.equal(await runs('/', { cookie: 'SVC_ADMIN=t' }), false)
  assert.equal(await runs('/', {}), false)
  assert.equal(await runs('/?preview=1', {}), true)
  assert.equal(await runs('/', {}, 'www.shop.test:80'), true)
})
