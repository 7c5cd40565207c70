import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import {
  brotliDecompressSync,
  createBrotliDecompress,
  createGunzip,
  createZstdDecompress,
  gunzipSync,
  zstdDecompressSync,
} from 'node:zlib'
import { withDeadline } from '@svc/core'
import type { BodyWriter, HeaderList } from '@svc/http'
import { compressStream } from '../src/compression/index.ts'
import { type ClientBehaviour, fieldOf, RecordedExchange } from './recorded-exchange.ts'

const html: HeaderList = [['content-type', 'text/html']]

function open(behaviour: ClientBehaviour, headers: HeaderList = html): { exchange: RecordedExchange; writer: BodyWriter } {
  const exchange = new RecordedExchange(behaviour)
  const writer = compressStream(exchange.request, { status: 200, headers }, undefined, {
    length: undefined,
    open: (head) => exchange.stream(head),
  })
  return { exchange, writer }
}

const codings = {
  br: { whole: brotliDecompressSync, stream: createBrotliDecompress },
  gzip: { whole: gunzipSync, stream: createGunzip },
  zstd: { whole: zstdDecompressSync, stream: createZstdDecompress },
} as const

for (const coding of ['br', 'gzip', 'zstd'] as const) {
  const headers = { 'accept-encoding': coding }

  test(`an abort under ${coding} cuts the response`, async () => {
    const { exchange, writer } = open({ headers })
    writer.write(Buffer.from('x'))
    writer.abort()
    writer.write(Buffer.from('y'))
    writer.end()
    assert.equal((await exchange.response()).isAborted, true)
  })

  test(`data written under ${coding} can be read before more follows`, async () => {
    const decoder = codings[coding].stream()
    let decoded = ''
    let waiting = { text: '', found: Promise.withResolvers<void>() }
    decoder.on('data', (chunk: Buffer) => {
      decoded += chunk.toString()
      if (decoded.endsWith(waiting.text)) waiting.found.resolve()
    })
    const { exchange, writer } = open({
      headers,
      onChunk: (chunk) => {
        decoder.write(chunk)
        return 'go'
      },
    })
    for (const text of ['<html>shell', '<p>boundary</p>', 'x']) {
      waiting = { text, found: Promise.withResolvers<void>() }
      writer.write(Buffer.from(text))
      await withDeadline(waiting.found.promise, 60_000, `"${text}" at the client`)
    }
    writer.end(Buffer.from('</html>'))
    const { body, head } = await exchange.response()
    assert.equal(fieldOf(head, 'content-encoding'), coding)
    assert.equal(codings[coding].whole(body).toString(), '<html>shell<p>boundary</p>x</html>')
    decoder.destroy()
  })

  test(`a large body under ${coding} arrives whole at a client that stalls after each chunk`, async () => {
    const content = randomBytes(600_000).toString('base64')
    const { exchange, writer } = open({
      headers,
      onChunk: (_chunk, self) => {
        setImmediate(() => self.drain())
        return 'hold'
      },
    })
    let sent = 0
    let refusals = 0
    const feed = () => {
      while (sent < content.length) {
        const piece = Buffer.from(content.slice(sent, sent + 50_000))
        sent += 50_000
        if (!writer.write(piece)) {
          refusals++
          return
        }
      }
      writer.end()
    }
    writer.onDrain(feed)
    feed()
    const { body } = await exchange.response()
    assert.equal(codings[coding].whole(body).toString(), content)
    assert.ok(refusals > 0, 'the writer was told to wait')
  })
}

test('holds the writer back while the client takes nothing', async () => {
  const { exchange, writer } = open({ headers: { 'accept-encoding': 'gzip' }, onChunk: () => 'hold' })
  let accepted = 0
  while (writer.write(randomBytes(16 * 1024)) && accepted < 1000) accepted++
  assert.ok(accepted < 100)
  exchange.disconnect()
  await exchange.response()
})

test('an empty body is an empty body', async () => {
  const { exchange, writer } = open({ headers: { 'accept-encoding': 'gzip' } })
  writer.end()
  assert.equal(gunzipSync((await exchange.response()).body).byteLength, 0)
})

test('passes a stream on untouched where there is nothing to compress', async () => {
  const cases: ReadonlyArray<readonly [ClientBehaviour, HeaderList, string | undefined]> = [
    [{ headers: { 'accept-encoding': 'br' } }, [['content-type', 'text/event-stream']], undefined],
    [{ headers: { 'accept-encoding': 'br' } }, [...html, ['content-encoding', 'x']], undefined],
    [{ headers: {} }, html, 'Accept-Encoding'],
  ]
  for (const [behaviour, headers, vary] of cases) {
    const { exchange, writer } = open(behaviour, headers)
    writer.end(Buffer.from('as it is'))
    const { head, body } = await exchange.response()
    assert.deepEqual([body.toString(), fieldOf(head, 'vary')], ['as it is', vary])
  }
})

test('HEAD gets the head of a compressed stream, and nothing is compressed for it', async () => {
  const { exchange, writer } = open({ method: 'HEAD', headers: { 'accept-encoding': 'br' } })
  writer.write(Buffer.from('not encoded'))
  writer.end()
  const { head, body } = await exchange.response()
  assert.equal(fieldOf(head, 'content-encoding'), 'br')
  assert.equal(body.toString(), 'not encoded', 'the engine drops it')
})
