import assert from 'node:assert/strict'
import { test } from 'node:test'
import { waitFor, writeFiles } from '@svc/testkit'
import { complete } from './canned-renderer.ts'
import { PipelineServer } from './pipeline-server.ts'
import { PluginServer, plugin } from './plugin-server.ts'

test('onRequest answers, changes fields and rewrites, one plugin after the other', async (t) => {
  const own = await PluginServer.start(t, {
    ...plugin(
      'gate',
      `onRequest(request) {
        if (request.path === '/closed') return { respond: { status: 403, headers: { 'x-why': 'gate' }, body: 'closed ' + request.client } }
        if (request.path === '/moved') return { rewrite: '/b.txt' }
        return { requestHeaders: { 'x-user': 'ann', 'x-gone': null } }
      }`,
    ),
    ...plugin(
      'second',
      `async onRequest(request) {
        const seen = [request.headers.get('X-User'), request.url, request.site, request.headers.get('x-gone'), Object.isFrozen(request)]
        return { requestHeaders: { 'x-seen': seen.join() } }
      }`,
    ),
  })
  const closed = await own.get('/closed')
  assert.deepEqual([closed.status, closed.headers['x-why'], closed.text], [403, 'gate', 'closed 127.0.0.1'])
  assert.equal(own.report('second').invocations, 0)
  const moved = await own.get('/moved')
  assert.deepEqual([moved.status, moved.text], [200, 'file b'])
  await own.get('/api?q=1', { headers: { 'x-user': 'forged', 'x-gone': '1' } })
  const fields = own.pipeline.renderer.requests[0]?.headers.filter(([name]) => /^x-(?!forwarded)/.test(name))
  assert.deepEqual(fields, [
    ['x-user', 'ann'],
    ['x-seen', 'ann,http://shop.test/api?q=1,,,true'],
  ])
})

test('no hook sees the cookie of administrators', async (t) => {
  const echo = `onRequest: (request) => ({ respond: { status: 200, body: String(request.headers.get('cookie')) + [...request.headers].length } })`
  const own = await PluginServer.start(t, plugin('echo', echo))
  const both = await own.get('/', { headers: { cookie: 'a=1; SVC_ADMIN=secret; b=2' } })
  assert.match(both.text, /^a=1; b=2\d+$/)
  const only = await own.get('/', { headers: { cookie: 'SVC_ADMIN=secret' } })
  assert.doesNotMatch(only.text, /secret/)
})

test('onRoute and beforeRender see where a request leads, and the code of the site sees their fields', async (t) => {
  const own = await PluginServer.start(
    t,
    plugin(
      'router',
      `onRoute(request, route) {
        if (route.pattern === '/items/[id]') return { respond: { status: 410, body: JSON.stringify([route, request.site]) } }
        return { requestHeaders: { 'x-route': route.kind + ' ' + route.pattern } }
      },
      beforeRender: async (request, route) => ({ requestHeaders: { 'x-render': request.headers.get('x-route') } })`,
    ),
    '[[route_rules]]\npattern = "/old"\naction = "redirect"\nredirect = "/new"\n',
  )
  const gone = await own.get('/items/7')
  assert.deepEqual([gone.status, gone.text], [410, '[{"site":"shop","kind":"app","pattern":"/items/[id]"},"shop"]'])
  await own.get('/')
  const sent = new Map(own.pipeline.renderer.requests[0]?.headers)
  assert.deepEqual([sent.get('x-route'), sent.get('x-render')], ['app /', 'app /'])
  const calls = own.report('router').invocations
  assert.equal((await own.get('/a.txt')).text, 'file a')
  assert.equal(own.report('router').invocations, calls + 1, 'a file is not rendered')
  assert.equal((await own.get('/old')).status, 308)
  assert.equal(own.report('router').invocations, calls + 2)
})

for (const mode of ['', 'async ']) {
  test(`${mode === '' ? 'a sync' : 'an async'} onResponse changes files, pages, streams and errors, but not the built-in endpoints`, async (t) => {
    const own = await PluginServer.start(
      t,
      plugin(
        'stamp',
        `${mode}onResponse(request, response) {
          if (request.path === '/api') return { status: 418, headers: { 'content-type': null, 'set-cookie': ['a=1', 'b=2'] } }
          return { headers: { 'x-stamp': request.path + response.status + response.headers.get('content-type') } }
        }`,
      ),
    )
    const stamp = async (path: string) => (await own.get(path)).headers['x-stamp']
    assert.equal(await stamp('/a.txt'), '/a.txt200text/plain; charset=utf-8')
    assert.equal(await stamp('/'), '/200text/html; charset=utf-8')
    const refused = await own.get('/', { method: 'POST' })
    assert.equal(refused.headers['x-stamp'], '/405application/problem+json')
    assert.equal(await stamp('/health'), undefined)
    own.pipeline.renderer.answer = ({ sink }) => {
      sink.head({ status: 200, headers: [['content-type', 'text/plain']] })
      const parts = ['one ', 'two ', 'three']
      const next = () => {
        const part = parts.shift()
        if (part === undefined) sink.end(complete())
        else sink.chunk(Buffer.from(part), next)
      }
      next()
    }
    const streamed = await own.get('/')
    assert.deepEqual([streamed.text, streamed.headers['x-stamp']], ['one two three', '/200text/plain'])
    const api = await own.get('/api')
    assert.deepEqual([api.status, api.headers['content-type'], api.text], [418, undefined, 'one two three'])
    assert.deepEqual(
      api.headerList.flatMap(([name, value]) => (name === 'set-cookie' ? [value] : [])),
      ['a=1', 'b=2'],
    )
  })
}

test('onRoute sees the location of a vhost file, and a rewrite of onRequest leads to another one', async (t) => {
  const own = await PluginServer.start(
    t,
    plugin(
      'where',
      `onRequest: (request) => request.path === '/from' ? { rewrite: '/files/b.txt?x=1' } : undefined,
      onRoute: (request, route) => ({ respond: { status: 299, body: [route.kind, route.pattern, request.site, request.path, request.query].join() } })`,
    ),
  )
  const { pipeline } = own
  pipeline.listen = [{ name: '127.0.0.1:8080', host: '127.0.0.1', port: 8080 }]
  writeFiles(pipeline.dir, {
    'v.conf': `server { listen 127.0.0.1:8080; server_name v.test; root ${pipeline.dir};
      location ^~ /files/ { } location ~ \\.php$ { deny all; } location = /gone { return 410; } }`,
  })
  await own.reload('[server]\nvhosts = ["v.conf"]\n')
  const get = (url: string) => own.get(url, { host: 'v.test', listener: '127.0.0.1:8080' })
  const known = own.pipeline.generation.spec.web.servers[0]?.site
  assert.equal((await get('/files/a.txt')).text, `location,^~ /files/,${known},/files/a.txt,`)
  assert.equal((await get('/from')).text, `location,^~ /files/,${known},/files/b.txt,x=1`)
  assert.equal((await get('/x.php')).status, 403, 'access comes first')
  assert.equal((await get('/gone')).status, 410)
})

test('onError sees the status and code of an error, and may answer', async (t) => {
  const own = await PluginServer.start(
    t,
    plugin(
      'pages',
      `async onError(request, error) {
        if (request.path.startsWith('/items')) return { respond: { status: 404, headers: { 'content-type': 'text/html' }, body: '<h1>' + error.code + error.status + '</h1>' } }
      }`,
    ),
  )
  const shown = await own.get('/items/1', { method: 'POST' })
  assert.deepEqual([shown.status, shown.text], [404, '<h1>method_not_allowed405</h1>'])
  assert.equal(PipelineServer.codeOf(await own.get('/', { method: 'POST' })), 'method_not_allowed')
  own.pipeline.renderer.answer = ({ sink }) => sink.fail(new TypeError('no host'))
  assert.equal((await own.get('/')).status, 500)
  assert.equal(own.pipeline.failures[0]?.message, 'no host')
})

test('onPurge and onReload observe', async (t) => {
  const hooks = `onPurge: (purge, call) => call.log('info', 'purged ' + purge.layers), onReload: (reload, call) => call.log('warn', 'reloaded ' + reload.generation)`
  const own = await PluginServer.start(t, plugin('watch', hooks))
  own.pipeline.plugins.purged(['isr'])
  await own.reload()
  await waitFor('both lines', () => own.pipeline.pluginLines.length >= 3)
  assert.deepEqual(own.pipeline.pluginLines, ['info watch loading a plugin', 'info watch purged isr', 'warn watch reloaded 2'])
})

const results: [title: string, hook: string, error: RegExp][] = [
  ['a status that ends nothing', `onRequest: () => ({ respond: { status: 99 } })`, /from 200 to 599, not 99/],
  [
    'a line feed in a value',
    `onRequest: () => ({ respond: { status: 200, headers: { 'x-a': 'b\\r\\nc: d' } } })`,
    /control character/,
  ],
  ['a name that is no token', `onRequest: () => ({ requestHeaders: { 'x a': 'b' } })`, /invalid name/],
  ['a body of numbers', `onRequest: () => ({ respond: { status: 200, body: 7 } })`, /string or a Uint8Array/],
  [
    'a framing field',
    `onRequest: () => ({ respond: { status: 200, headers: { 'content-length': '3' } } })`,
    /belongs to the body/,
  ],
  ['another host', `onRequest: () => ({ requestHeaders: { host: 'other.test' } })`, /cannot be changed/],
  ['a forwarded address', `onRequest: () => ({ requestHeaders: { 'x-forwarded-for': '10.0.0.1' } })`, /speaks for a proxy/],
  ['a rewrite without a slash', `onRequest: () => ({ rewrite: 'b.txt' })`, /begins with "\/"/],
  ['a rewrite with dots', `onRequest: () => ({ rewrite: '/a/%2e%2e/b.txt' })`, /dot segment/],
  ['a rewrite to endpoints', `onRequest: () => ({ rewrite: '/%5f_svc/admin' })`, /\/__svc\//],
  ['an unknown member', `onRequest: () => ({ header: {} })`, /unknown key "header"/],
  ['a text', `onRequest: () => 'no'`, /must be an object/],
  ['the cookie of administrators', `onResponse: () => ({ headers: { 'set-cookie': 'SVC_ADMIN=x' } })`, /administrators/],
  ['a response without a body', `onResponse: () => ({ status: 304 })`, /cannot become 304/],
  ['a coding', `onResponse: () => ({ headers: { 'content-encoding': 'gzip' } })`, /belongs to the body/],
  ['an exception', `onRequest() { throw new RangeError('oops') }`, /oops/],
  ['a rejection', `onRequest: () => Promise.reject('plain')`, /plain/],
]

test('a result that is none is an error of the plugin: the request goes on as without it', async (t) => {
  const files = Object.assign({}, ...results.map(([, hook], index) => plugin(`p${index}`, hook)))
  const own = await PluginServer.start(t, files)
  const response = await own.get('/a.txt')
  assert.deepEqual([response.status, response.text], [200, 'file a'])
  for (const [index, [title, , error]] of results.entries()) {
    const { errors, last_error: last } = own.report(`p${index}`)
    assert.equal(errors, 1, title)
    assert.match(last ?? '', error, title)
  }
})
