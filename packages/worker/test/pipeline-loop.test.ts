import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PipelineServer, shop } from './pipeline-server.ts'

const config = '[scaling]\ninstance_id = "web-1"\n'
const own = (times: number) => Array.from({ length: times }, () => 'svc;web-1').join(', ')

test('a request that came through this instance five times is rejected, for any path', async (t) => {
  const server = await PipelineServer.start(t, [shop], config)
  const ask = (path: string, loop: string) => server.get(path, { headers: { 'cdn-loop': loop } })
  for (const path of ['/', '/health', '/__svc/metrics', '/none']) {
    const answer = await ask(path, own(5))
    assert.equal(answer.status, 508, path)
    assert.equal(JSON.parse(answer.text).code, 'loop_detected')
  }
  assert.equal((await ask('/', ` svc ; web-1,${own(4)}`)).status, 508)
  const marked = Array.from({ length: 5 }, (_, hop) => `svc;web-1;t=start-${hop}`)
  assert.equal((await ask('/', marked.join(', cdn, '))).status, 508, 'also when the instance was restarted on the way')
})

test('a request that came through it less often, or through others, is served', async (t) => {
  const server = await PipelineServer.start(t, [shop], config)
  for (const loop of ['', own(4), `${own(4)}, svc;web-10, svc`, 'svc;web-2, '.repeat(40), 'other; v="svc;web-1"'.repeat(9)]) {
    assert.equal((await server.get('/', { headers: { 'cdn-loop': loop } })).status, 200, loop)
  }
})

test('all fields count, not the first alone', async (t) => {
  const server = await PipelineServer.start(t, [shop], config)
  const fields = Array.from({ length: 5 }, () => own(1))
  assert.equal((await server.get('/', { headers: { 'CDN-Loop': fields.slice(1) } })).status, 200)
  assert.equal((await server.get('/', { headers: { 'CDN-Loop': fields } })).status, 508)
})
