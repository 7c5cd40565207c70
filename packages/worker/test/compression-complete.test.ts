import assert from 'node:assert/strict'
import { test } from 'node:test'
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib'
import type { HeaderList } from '@svc/http'
import { compressComplete } from '../src/compression/index.ts'
import { fieldOf } from './recorded-exchange.ts'

const text = Buffer.from('<p>hello world</p>\n'.repeat(200))
const html: HeaderList = [['Content-Type', 'text/html; charset=utf-8']]
const ask = (fields: Record<string, string>, method = 'GET') => ({
  method,
  httpVersion: '1.1' as const,
  header: (name: string) => fields[name],
})
const all = ask({ 'accept-encoding': 'gzip, deflate, br, zstd' })

const alone: ReadonlyArray<readonly [why: string, status: number, headers: HeaderList, body?: Buffer, request?: typeof all]> = [
  ['it is short', 200, html, Buffer.alloc(1023, 'x')],
  ['its type is not known', 200, []],
  ['its type does not get smaller', 200, [['content-type', 'image/png']]],
  ['it is an event stream', 200, [['content-type', 'text/event-stream']]],
  ['it is coded already', 200, [...html, ['Content-Encoding', 'gzip']]],
  ['it is a part', 206, html],
  ['it has a Content-Range', 200, [...html, ['content-range', 'bytes 0-1/2']]],
  ['it has no content', 304, html],
  ['the response forbids it', 200, [...html, ['Cache-Control', 'max-age=1, No-Transform']]],
  ['the request forbids it', 200, html, text, ask({ 'accept-encoding': 'br', 'cache-control': 'no-transform' })],
]
for (const [why, status, headers, body = text, request = all] of alone) {
  test(`leaves a response alone when ${why}`, () => {
    const head = { status, headers }
    const result = compressComplete(request, head, body, undefined)
    assert.deepEqual(result, { head, body })
    assert.ok(!(result instanceof Promise) && result.head === head)
  })
}

test('says that a response depends on Accept-Encoding also to a client that gets it plain', () => {
  const result = compressComplete(ask({}), { status: 200, headers: html }, text, undefined)
  assert.ok(!(result instanceof Promise))
  assert.deepEqual(result, { head: { status: 200, headers: [...html, ['vary', 'Accept-Encoding']] }, body: text })
})

const decoders = { br: brotliDecompressSync, gzip: gunzipSync, zstd: zstdDecompressSync }
for (const coding of ['br', 'gzip', 'zstd'] as const) {
  test(`compresses with ${coding}`, async () => {
    const { head, body } = await compressComplete(
      ask({ 'accept-encoding': coding }),
      { status: 200, headers: html },
      text,
      undefined,
    )
    assert.equal(fieldOf(head, 'content-encoding'), coding)
    assert.equal(fieldOf(head, 'vary'), 'Accept-Encoding')
    assert.ok(body.byteLength < text.byteLength / 4)
    assert.deepEqual(decoders[coding](body), text)
  })
}

test('weakens a strong tag and keeps a weak one (RFC 9110 section 8.8.1)', async () => {
  for (const tag of ['"a"', 'W/"a"']) {
    const { head } = await compressComplete(
      all,
      { status: 200, headers: [...html, ['ETag', tag], ['Accept-Ranges', 'bytes']] },
      text,
      undefined,
    )
    assert.equal(fieldOf(head, 'etag'), 'W/"a"')
    assert.equal(fieldOf(head, 'accept-ranges'), undefined)
  }
})

test('adds to Vary without naming anything twice', async () => {
  const varyOf = async (...vary: string[]) => {
    const headers: HeaderList = [...html, ...vary.map((value) => ['Vary', value] as const)]
    const { head } = await compressComplete(all, { status: 200, headers }, text, undefined)
    return head.headers.filter(([name]) => name.toLowerCase() === 'vary').map(([, value]) => value)
  }
  assert.deepEqual(await varyOf('Cookie', 'Origin'), ['Cookie, Origin, Accept-Encoding'])
  assert.deepEqual(await varyOf('cookie, accept-encoding'), ['cookie, accept-encoding'])
  assert.deepEqual(await varyOf('*'), ['*'])
})

test('sends a body that compression does not shrink unchanged', async () => {
  const { randomBytes } = await import('node:crypto')
  const body = randomBytes(4096)
  const result = await compressComplete(
    all,
    {
      status: 200,
      headers: [
        ['content-type', 'text/plain'],
        ['etag', '"a"'],
      ],
    },
    body,
    undefined,
  )
  assert.equal(result.body, body)
  assert.deepEqual(
    [fieldOf(result.head, 'content-encoding'), fieldOf(result.head, 'etag'), fieldOf(result.head, 'vary')],
    [undefined, '"a"', 'Accept-Encoding'],
  )
})

test('gives HEAD the fields and the length of GET', async () => {
  const head = { status: 200, headers: html }
  const fields = { 'accept-encoding': 'gzip' }
  const [get, only] = await Promise.all([
    compressComplete(ask(fields), head, text, undefined),
    compressComplete(ask(fields, 'HEAD'), head, text, undefined),
  ])
  assert.deepEqual(only.head, get.head)
  assert.equal(only.body.byteLength, get.body.byteLength)
})
