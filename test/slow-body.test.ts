import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import { fetchHttp, startServer } from '@svc/testkit'

test('an endpoint answers 408 to a body that does not come to its end', async (t) => {
  const config = '[server]\nlisten = "127.0.0.1:0"\nrequest_timeout_secs = 1\n'
  const { url } = await startServer(t, { config })
  const { port } = new URL(url)
  const socket = connect(Number(port), '127.0.0.1')
  t.after(() => socket.destroy())
  socket.write(
    'POST /__svc/cache/purge-l0 HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{"p',
  )
  const [answer] = await once(socket, 'data')
  assert.match(String(answer), /^HTTP\/1\.1 408 /)
  assert.match(String(answer), /"code":"request_timeout"/)
  assert.equal((await fetchHttp(`${url}/health`)).status, 200)
})
