import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { test } from 'node:test'
import { waitFor } from '@svc/testkit'
import { HeaderBlocks, readyHeadOf } from '../src/exchange/response-head.ts'
import { startUws } from './start-uws.ts'

const REQUESTS = 20_000

/** Request, response length, and readiness of the response. */
const cases: readonly (readonly [method: string, bytes: number, isReady: boolean, fields?: string])[] = [
  ['GET', 10_000, false],
  ['GET', 10_000, true],
  ['GET', 10_000, false, 'Connection: keep-alive, close\r\n'],
  ['GET', 10_000, true, 'Connection: close\r\n'],
  ['GET', 0, false],
  ['GET', 0, true],
  ['HEAD', 10_000, false],
]

for (const [method, bytes, isReady, fields = ''] of cases) {
  const what = `${method}, ${isReady ? 'ready ' : ''}answers of ${bytes} bytes${fields.trimEnd() && `, ${fields.trimEnd()}`}`
  test(`uws: a client that pipelines requests and reads nothing is not answered without end (${what})`, async (t) => {
    let answers = 0
    const body = Buffer.alloc(bytes)
    const head = readyHeadOf(new HeaderBlocks((error) => assert.fail(error)).of({ status: 200, headers: [] }))
    const find = () => {
      answers++
      return { head, body, length: '' }
    }
    const ready = { find, sent: () => undefined, sentLater: () => () => undefined }
    const { engine, port } = await startUws(
      t,
      (exchange) => {
        answers++
        exchange.respond({ status: 200, headers: [] }, body)
      },
      isReady ? { ready } : {},
    )
    const socket = connect({ port, host: '127.0.0.1' }).pause()
    t.after(() => socket.destroy())
    socket.on('error', () => undefined)
    socket.write(`${method} / HTTP/1.1\r\nHost: a\r\n${fields}\r\n`.repeat(REQUESTS))
    await waitFor('the end of the connection', () => answers > 0 && engine.connections === 0)
    assert.ok(answers < REQUESTS / 2, `${answers} answers`)
    assert.equal(engine.inFlight, 0)
  })
}

test('uws: a client that sends one request after another gets all responses, with a body and without', async (t) => {
  const { port } = await startUws(t, (exchange) => exchange.respond({ status: 200, headers: [] }, Buffer.from('hello')))
  const socket = connect({ port, host: '127.0.0.1' })
  t.after(() => socket.destroy())
  let text = ''
  socket.on('data', (data: Buffer) => {
    text += data.toString('latin1')
  })
  for (let at = 1; at <= 100; at++) {
    text = ''
    socket.write(`${at % 10 === 0 ? 'GET' : 'HEAD'} / HTTP/1.1\r\nHost: a\r\n\r\n`)
    await waitFor('the answer', () => text.endsWith(at % 10 === 0 ? 'hello' : '\r\n\r\n'))
    assert.match(text, /^HTTP\/1.1 200 OK\r\n/)
    assert.match(text, /\r\nContent-Length: 5\r\n/i)
  }
})
