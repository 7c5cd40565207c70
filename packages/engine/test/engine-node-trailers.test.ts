import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:http2'
import { test } from 'node:test'
import type { HeaderList } from '@svc/http'
import { startEngine } from './start-engine.ts'
import { anyCertificate } from './test-certificates.ts'

test('HTTP/2: fields of an upstream that may not be written, or only once, end neither the answer nor the process', async (t) => {
  const headers: HeaderList = [
    ['http2-settings', 'AAMAAABk'],
    ['user-agent', 'a'],
    ['user-agent', 'b'],
    ['x-head', 'h'],
  ]
  const hint: HeaderList = [
    ['constructor', 'a'],
    ['__proto__', 'b'],
    ['etag', '"a"'],
    ['etag', '"b"'],
    ['link', '</a>'],
    ['link', '</b>'],
  ]
  const trailers: HeaderList = [
    ['http2-settings', 'AAMAAABk'],
    ['etag', '"a"'],
    ['etag', '"b"'],
    [':status', '200'],
    ['x-control', 'a\x01b'],
    ['x-end', 'e'],
  ]
  const { port, problems } = await startEngine(
    t,
    'node',
    (exchange) => {
      exchange.informational?.({ status: 103, headers: hint })
      exchange.stream({ status: 200, headers }).end(Buffer.from('body'), trailers)
    },
    { tls: anyCertificate(t) },
  )
  const session = connect(`https://127.0.0.1:${port}`, { rejectUnauthorized: false })
  t.after(() => session.destroy())
  const stream = session.request({ ':path': '/', te: 'trailers' })
  let interim: Record<string, unknown> = {}
  stream.on('headers', (fields) => {
    interim = { ...fields }
  })
  let text = ''
  stream.on('data', (data: Buffer) => {
    text += data.toString()
  })
  let trailing: Record<string, unknown> = {}
  stream.on('trailers', (fields) => {
    trailing = { ...fields }
  })
  const [head] = await once(stream, 'response')
  assert.deepEqual([head[':status'], head['x-head'], head['user-agent'], head['http2-settings']], [200, 'h', 'a', undefined])
  await once(stream, 'close')
  assert.deepEqual([interim[':status'], interim['constructor'], interim['link']], [103, 'a', '</a>, </b>'])
  assert.equal(text, 'body')
  assert.deepEqual([trailing['x-end'], Object.keys(trailing).sort()], ['e', ['etag', 'x-end']])
  assert.deepEqual(problems, [])
})
