import assert from 'node:assert/strict'
import { test } from 'node:test'
import { waitFor } from '@svc/testkit'
import { PluginModules } from '../src/plugins/plugin-modules.ts'
import { PluginServer, plugin } from './plugin-server.ts'

test('a hook that hangs costs its request the deadline, and others nothing; its signal is aborted and its late result ignored', async (t) => {
  const own = await PluginServer.start(t, {
    ...plugin(
      'slow',
      `onRequest(request, call) {
        if (request.path !== '/a.txt') return
        return new Promise((resolve) => call.signal.addEventListener('abort', () => {
          call.log('info', 'aborted ' + request.id)
          resolve({ respond: { status: 500 } })
        }))
      }`,
      'timeoutMs: 30,',
    ),
  })
  const [late, other] = await Promise.all([own.get('/a.txt'), own.get('/b.txt')])
  assert.deepEqual([late.status, late.text, other.text], [200, 'file a', 'file b'])
  await waitFor('the signal', () => own.pipeline.pluginLines.some((line) => /^info slow aborted/.test(line)))
  const { invocations, errors, last_error: last } = own.report('slow')
  assert.deepEqual([invocations, errors, last], [2, 1, 'onRequest: took longer than 30 ms'])
})

test('a sync overrun is counted, and its result is used', async (t) => {
  const spin = `onRequest() { const end = performance.now() + 20; while (performance.now() < end); return { respond: { status: 202 } } }`
  const own = await PluginServer.start(t, plugin('spin', spin, 'timeoutMs: 5,'))
  assert.equal((await own.get('/')).status, 202)
  assert.match(own.report('spin').last_error ?? '', /^onRequest: took \d+ ms, longer than 5 ms; its result was used$/)
})

test('after ten failures in a row a plugin is off, reported once, and on again when told; a success in between restarts the count', async (t) => {
  const hook = `onRequest(request) { if (request.path === '/b.txt') throw new Error('broken'); return { respond: { status: 204 } } }`
  const own = await PluginServer.start(t, plugin('frail', hook))
  const fail = async (times: number) => {
    for (let time = 0; time < times; time++) assert.equal((await own.get('/b.txt')).text, 'file b')
  }
  await fail(9)
  assert.equal((await own.get('/')).status, 204)
  await fail(9)
  assert.equal(own.pipeline.pluginsOff.length, 0)
  await fail(3)
  const [off, ...more] = own.pipeline.pluginsOff
  assert.deepEqual(more, [])
  assert.equal(off?.reason, '10 failures in a row, the last one: onRequest: broken')
  assert.equal(own.report('frail').off_reason, off.reason)
  assert.equal((await own.get('/')).status, 200, 'it is skipped')
  own.pipeline.plugins.setOff({ ...off, reason: null })
  assert.equal((await own.get('/')).status, 204)
  await fail(9)
  assert.equal(own.report('frail').off_reason, null)
})

test('calls that never end are bounded: past that a plugin is skipped', async (t) => {
  const hook = `onRequest: (request) => request.path === '/a.txt' ? new Promise(() => {}) : { respond: { status: 204 } }`
  const own = await PluginServer.start(t, plugin('leak', hook, 'timeoutMs: 10,'))
  // With a success in between it is never off.
  const hang = () => Promise.all(Array.from({ length: 5 }, () => own.get('/a.txt')))
  for (let round = 0; round < 19; round++) {
    await hang()
    assert.equal((await own.get('/')).status, 204)
  }
  await hang()
  assert.equal((await own.get('/')).status, 200)
  assert.match(own.report('leak').last_error ?? '', /^onRequest: skipped: 100 calls past their deadline have not ended$/)
})

test('what is counted is in the metrics, with a span of each hook in the flow', async (t) => {
  const own = await PluginServer.start(t, {
    ...plugin('a', `onRequest: () => undefined, async onResponse() { throw new Error('x') }`),
    ...plugin('b', `async onRequest() {}`),
  })
  await own.get('/a.txt')
  assert.deepEqual(await own.pipeline.metric('plugin_invocations_total'), {
    'a onRequest': 1,
    'a onResponse': 1,
    'b onRequest': 1,
  })
  assert.deepEqual(await own.pipeline.metric('plugin_errors_total'), { a: 1, b: 0 })
  assert.equal((await own.pipeline.metric('plugin_duration_seconds'))['b onRequest'], 1)
  const [flow] = own.pipeline.flows.list({ limit: 1 })
  const names = flow?.stages.map(({ name }) => name)
  assert.deepEqual(names, [
    'l0',
    'router',
    'plugin:a:onRequest',
    'plugin:b:onRequest',
    'router',
    'write',
    'plugin:a:onResponse',
    'write',
  ])
})

test('nothing that passed a deciding hook enters L0, unless the plugin is cacheable', async (t) => {
  const hit = async (own: PluginServer) => {
    for (let time = 0; time < 3; time++) await own.get('/old')
    return (await own.get('/old')).headers['cache-status']
  }
  const rule = '[[route_rules]]\npattern = "/old"\naction = "redirect"\nredirect = "/new"\n'
  const stamp = `onResponse: () => ({ headers: { 'x-stamp': '1' } })`
  const plain = await PluginServer.start(t, plugin('stamp', stamp), rule)
  assert.doesNotMatch((await hit(plain)) ?? '', /hit/)
  assert.equal(plain.report('stamp').invocations, 4)
  const cacheable = await PluginServer.start(t, plugin('stamp', stamp, 'cacheable: true,'), rule)
  assert.match((await hit(cacheable)) ?? '', /svc-l0; hit/)
  assert.equal((await cacheable.get('/old')).headers['x-stamp'], '1')
  assert.equal(cacheable.report('stamp').invocations, 2)
  cacheable.write(plugin('gate', `onRequest: () => ({ respond: { status: 403 } })`))
  await cacheable.reload()
  assert.equal((await cacheable.get('/old')).status, 403, 'a new plugin sees requests that L0 could have answered')
})

test('plugins run in the order of their files, and only a changed one is loaded again, with the modules that it imports', async (t) => {
  const own = await PluginServer.start(t, {
    '20-first.mjs': `import { word } from './lib/word.mjs'
      let calls = 0
      export default { name: 'first', version: '1', hooks: { onResponse: (_, r) => ({ headers: { 'x-order': (r.headers.get('x-order') ?? '') + word + ++calls } }) } }`,
    '10-last.mjs': `let calls = 0
      export default { name: 'last', version: '1', hooks: { onResponse: () => ({ headers: { 'x-order': 'last' + ++calls + ' ' } }) } }`,
    'lib/word.mjs': `export const word = 'old'`,
  })
  const order = async () => (await own.get('/a.txt')).headers['x-order']
  assert.equal(await order(), 'last1 old1')
  own.write({ '10-last.mjs': plugin('last', `onResponse: () => ({ headers: { 'x-order': 'new ' } })`)['last.mjs'] ?? '' })
  await own.reload()
  assert.equal(await order(), 'new old2', 'the other one goes on')
  own.write({ 'lib/word.mjs': `export const word = 'young'` })
  await own.reload()
  assert.equal(await order(), 'new young1')
})

const broken: [title: string, text: string, error: RegExp][] = [
  ['an exception', `\n\nnull.x\nexport default {}`, /auth\.mjs:3: Cannot read/],
  ['no default export', `export const name = 'auth'`, /default export is missing/],
  [
    'another name',
    `export default { name: 'other', version: '1', hooks: {} }`,
    /name must be "auth", as its file says, not "other"/,
  ],
  [
    'an unknown hook',
    `export default { name: 'auth', version: '1', hooks: { onRequests() {} } }`,
    /unknown hook "onRequests"; did you mean "onRequest"\?/,
  ],
  ['an unknown key', `export default { name: 'auth', version: '1', hook: {} }`, /unknown key "hook"; did you mean "hooks"\?/],
  [
    'a hook that is none',
    `export default { name: 'auth', version: '1', hooks: { onError: 1 } }`,
    /hooks\.onError must be a function/,
  ],
  ['no version', `export default { name: 'auth', hooks: { onError() {} } }`, /version must be a text/],
  ['a missing import', `import './gone.mjs'\nexport default {}`, /Cannot find module .*gone\.mjs/],
  [
    'a wait without end',
    `await new Promise(() => {})\nexport default {}`,
    /auth\.mjs: its module did not finish loading within 200 ms/,
  ],
]

test('a plugin that cannot be loaded fails the generation with its place, and the one before goes on', async (t) => {
  const own = await PluginServer.start(t, plugin('auth', `onRequest: () => ({ respond: { status: 204 } })`))
  t.mock.method(PluginModules.prototype, 'load', patient(PluginModules.prototype.load))
  for (const [title, text, error] of broken) {
    own.write({ 'auth.mjs': text })
    await assert.rejects(own.reload(), { message: error }, title)
    assert.equal((await own.get('/')).status, 204, title)
  }
})

/** With less patience than in service. */
function patient(load: PluginModules['load']): PluginModules['load'] {
  const modules = new PluginModules(200)
  return (...args) => load.apply(modules, args)
}
