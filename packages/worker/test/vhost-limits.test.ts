import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ManualClock, waitFor } from '@svc/testkit'
import { ConnectionLimits } from '../src/limits/connection-limits.ts'
import { RequestLimits } from '../src/limits/request-limits.ts'
import { VhostServer } from './vhost-server.ts'

const conf = `
limit_req_zone $arg_k zone=minute:1m rate=1r/m;
limit_req_zone $arg_k zone=second:1m rate=1r/s;
limit_conn_zone $arg_k zone=open:1m;
server { listen {on0}; server_name a.test; root {dir}/www; add_header X-Req "[$limit_req_status]" always; add_header X-Conn "[$limit_conn_status]" always;
  location /strict { limit_req zone=minute; try_files /a.txt =404; }
  location /burst { limit_req zone=minute burst=2 nodelay; limit_req_status 429; try_files /a.txt =404; }
  location /delayed { limit_req zone=second burst=2; try_files /a.txt =404; }
  location /dry { limit_req zone=minute; limit_req_dry_run on; try_files /a.txt =404; }
  location /page { limit_req zone=minute; error_page 503 =200 /strict-page?k=1; }
  location /strict-page { limit_req zone=minute; limit_conn open 1; try_files /a.txt =404; }
  location /late { auth_delay 2s; auth_basic realm; auth_basic_user_file {dir}/users; try_files /a.txt =404; }
  location /slow { limit_rate 1m; add_header X-Rate $limit_rate; alias {dir}/www/big.txt; }
  location /slow-later { limit_rate 1m; limit_rate_after 1m; alias {dir}/www/big.txt; }
  location /slow-set { set $limit_rate $arg_rate; add_header X-Rate $limit_rate; alias {dir}/www/big.txt; }
  location /slow-text { limit_rate 10; return 200 "0123456789abc"; }
  location /open { limit_conn open 1; proxy_pass http://127.0.0.1:1; }
  location /returned { limit_req zone=minute; return 200 "before limits"; }
  location = /authorized { internal; limit_req zone=minute; return 204; }
  location /counted { limit_req zone=minute; auth_request /authorized-too; try_files /a.txt =404; }
  location = /authorized-too { internal; limit_req zone=minute; try_files /a.txt =404; }
}`

test('requests over the rate are refused, and their responses are not in L0', async (t) => {
  const server = await VhostServer.start(t, conf, { 'www/a.txt': 'text' })
  const view = async (url: string) => {
    const { status, headers } = await server.get(url)
    return [status, headers['x-req'], headers['x-conn']]
  }
  assert.deepEqual(await view('/strict?k=1'), [200, '[PASSED]', '[]'])
  for (let i = 0; i < 3; i++) assert.deepEqual(await view('/strict?k=1'), [503, '[REJECTED]', '[]'])
  assert.deepEqual(await view('/strict?k=2'), [200, '[PASSED]', '[]'])
  for (let i = 0; i < 5; i++) assert.deepEqual(await view('/strict'), [200, '[]', '[]'], 'an empty key is not limited')
  const burst = [200, 200, 200, 429, 429]
  for (const status of burst) assert.equal((await view('/burst?k=b'))[0], status)
  assert.deepEqual(await view('/dry?k=1'), [200, '[REJECTED_DRY_RUN]', '[]'])
  assert.deepEqual(await view('/page?k=1'), [200, '[REJECTED]', '[PASSED]'], 'the page of an error is not limited again')
  for (let i = 0; i < 3; i++) assert.equal((await view('/returned?k=1'))[0], 200)
  assert.deepEqual(await view('/counted?k=c'), [200, '[PASSED]', '[]'], 'a subrequest is not counted again')
  server.pipeline.clock.advance(63_000)
  assert.deepEqual(await view('/strict?k=1'), [200, '[PASSED]', '[]'])
})

test('requests within the burst wait for their time', async (t) => {
  const server = await VhostServer.start(t, conf, { 'www/a.txt': 'text' })
  assert.equal((await server.get('/delayed?k=1')).status, 200)
  const waiting = [server.get('/delayed?k=1'), server.get('/delayed?k=1')]
  assert.equal((await server.get('/delayed?k=1')).status, 503)
  let isDone = false
  void waiting[1]?.then(() => {
    isDone = true
  })
  server.pipeline.clock.advance(1_000)
  const first = await waiting[0]
  assert.deepEqual([first?.status, first?.headers['x-req'], isDone], [200, '[DELAYED]', false])
  server.pipeline.clock.advance(1_000)
  assert.equal((await waiting[1])?.status, 200)
})

test('a response with 401 waits for auth_delay, and no other one does', async (t) => {
  const server = await VhostServer.start(t, conf, { 'www/a.txt': 'text', users: 'joe:{PLAIN}secret' })
  const authorization = `Basic ${btoa('joe:secret')}`
  assert.equal((await server.get('/late', { headers: { authorization } })).status, 200)
  let isDone = false
  const refused = server.get('/late').then(({ status }) => {
    isDone = true
    return status
  })
  await server.get('/late', { headers: { authorization } })
  server.pipeline.clock.advance(1_999)
  await server.get('/late', { headers: { authorization } })
  assert.equal(isDone, false)
  server.pipeline.clock.advance(1)
  assert.equal(await refused, 401)
})

test('a response is sent no faster than limit_rate, after what limit_rate_after leaves out', async (t) => {
  const big = 'x'.repeat(1_400_000)
  const server = await VhostServer.start(t, conf, { 'www/big.txt': big })
  // The timers of the server keep no process alive.
  const alive = setInterval(() => undefined, 1_000)
  t.after(() => clearInterval(alive))
  const timeOf = async (url: string, rate: string | undefined, text = big) => {
    const startedAt = performance.now()
    const response = await server.get(url)
    assert.equal(response.text.length, text.length, url)
    assert.equal(response.text, text)
    assert.equal(response.headers['x-rate'], rate)
    return performance.now() - startedAt
  }
  // The bytes of a second go at once.
  const slowMs = (big.length / 1_048_576 - 1) * 1_000
  assert.ok((await timeOf('/slow', '1048576')) > slowMs)
  assert.ok((await timeOf('/slow-set?rate=1m', '1048576')) > slowMs)
  assert.ok((await timeOf('/slow-text', undefined, '0123456789abc')) > 290)
  for (const url of ['/slow-later', '/slow-set?rate=9m', '/slow-set?rate=0', '/slow-set?rate=x']) {
    const fast = await server.get(url)
    assert.equal(fast.text, big, url)
  }
  assert.equal((await server.get('/slow', { method: 'HEAD' })).text, '')
})

test('a flood is refused without the master, which is asked again after a second', async () => {
  const clock = new ManualClock()
  let asked = 0
  const limits = new RequestLimits(async (orders) => {
    asked += orders.length
    return orders.map(() => ({ refusedBy: 0, excess: 5000, delayMs: 0 }))
  }, clock)
  const limit = { zone: 'z', rate: 1000, maxBytes: 32_768, key: 'k', burst: 0, delay: 0 }
  for (let i = 0; i < 100; i++) assert.equal(await limits.decide([limit]), undefined)
  assert.equal(asked, 1)
  clock.advance(1_000)
  assert.equal(await limits.decide([limit]), undefined)
  assert.equal(asked, 2)
})

test('requests in progress are counted here while the master does not reply, and every end is told to it', async () => {
  const ended: number[] = []
  const limits = new ConnectionLimits({ begin: () => Promise.reject(new Error('away')), end: (ids) => void ended.push(...ids) })
  const limit = [{ zone: 'z', key: 'k', max: 2 }]
  const [first, second] = await Promise.all([limits.count(limit), limits.count(limit)])
  assert.equal(limits.count(limit), undefined)
  first?.release()
  first?.release()
  assert.ok(await limits.count(limit))
  second?.release()
  await waitFor('both ends', () => ended.length === 2)
})
