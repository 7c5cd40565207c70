import assert from 'node:assert/strict'
import test from 'node:test'
import { VhostServer } from './vhost-server.ts'

const conf = `
server { listen {on0}; server_name a.test; location /status { stub_status; } location /closed { stub_status; deny all; } }
server { listen {on0}; server_name b.test; stub_status; location /none { return 204; } }`

const metrics = `# TYPE http_requests_total counter
http_requests_total{method="GET",status="200",path_group="/{x}"} 40
http_requests_total{method="POST",status="404",path_group="static"} 2
http_active_connections 7
svc_http_connections_total 30
svc_http_requests_in_flight 3
`

test('stub_status shows the sums of all workers, which are read once a second', async (t) => {
  const server = await VhostServer.start(t, conf)
  const { pipeline } = server
  pipeline.metricsText = metrics
  const { status, headers, body } = await server.get('/status')
  assert.deepEqual([status, headers['content-type']], [200, 'text/plain'])
  const page = 'Active connections: 7 \nserver accepts handled requests\n 30 30 42 \nReading: 0 Writing: 3 Waiting: 4 \n'
  assert.equal(body.toString(), page)
  await Promise.all([server.get('/status'), server.get('/status'), server.get('/status', { method: 'HEAD' })])
  assert.equal(pipeline.metricsReads, 1)
})

test('stub_status obeys access rules, answers reads alone, and stands for a server without its locations', async (t) => {
  const server = await VhostServer.start(t, conf)
  const statusOf = async (url: string, options = {}) => (await server.get(url, options)).status
  assert.equal(await statusOf('/closed'), 403)
  assert.equal(await statusOf('/status', { method: 'POST' }), 405)
  assert.equal(await statusOf('/any', { host: 'b.test' }), 200)
  assert.equal(await statusOf('/none', { host: 'b.test' }), 204)
  assert.equal(await server.l0('/status'), 'other')
  assert.equal(await server.l0('/status'), 'other')
})
