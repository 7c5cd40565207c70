import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import type { EgressRules } from '../src/thread/egress/address-policy.ts'
import {
  SiteFetch,
  type SiteFetchLimits,
  type SiteRequest,
  type SiteResponseHead,
  siteFetchLimits,
} from '../src/thread/egress/site-fetch.ts'

async function listen(t: TestContext, handler: RequestListener): Promise<string> {
  const server = createServer(handler).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return `127.0.0.1:${(server.address() as AddressInfo).port}`
}

interface Options {
  readonly allow?: string[]
  readonly limits?: Partial<SiteFetchLimits>
}

function fetcher(t: TestContext, { allow = [], limits = {} }: Options) {
  const rules: EgressRules = { allow, allowLocal: false, own: [] }
  const site = new SiteFetch({ rules, loopMark: { instanceId: 'one', token: 'x' }, limits: { ...siteFetchLimits, ...limits } })
  t.after(() => site.close())
  return async (request: Partial<SiteRequest> & { url: string }, signal = new AbortController().signal) => {
    let head: SiteResponseHead | undefined
    const pieces: Uint8Array[] = []
    await site.run(
      { method: 'GET', headers: [], redirect: 'follow', body: undefined, cdnLoop: '', ...request },
      {
        head: (received) => {
          head = received
        },
        piece: async (bytes) => {
          pieces.push(bytes)
        },
      },
      signal,
    )
    assert.ok(head !== undefined)
    return { head, text: Buffer.concat(pieces).toString() }
  }
}

function redirectTo(location: string, status = 302) {
  return (_request: IncomingMessage, response: ServerResponse) => {
    response.writeHead(status, { location }).end('moved')
  }
}

test('a fetch continues the trace of its request, unless the site has written one itself', async (t) => {
  const host = await listen(t, ({ headers }, response) => {
    response.end(JSON.stringify([headers['traceparent'], headers['tracestate']]))
  })
  const run = fetcher(t, { allow: ['127.0.0.1'] })
  const url = `http://${host}/`
  const trace = [
    ['traceparent', '00-aa-bb-01'],
    ['tracestate', 'a=1'],
  ] as const
  const sent = async (headers: [string, string][], own: typeof trace | undefined) =>
    JSON.parse((await run({ url, headers, trace: own })).text)
  assert.deepEqual(await sent([], trace), ['00-aa-bb-01', 'a=1'])
  assert.deepEqual(await sent([['Traceparent', '00-cc-dd-00']], trace), ['00-cc-dd-00', null])
  assert.deepEqual(await sent([], undefined), [null, null])
})

test('a local server is refused, by address and by a name that resolves to it', async (t) => {
  let requests = 0
  const host = await listen(t, (_, response) => {
    requests++
    response.end()
  })
  const run = fetcher(t, {})
  const port = host.split(':')[1]
  for (const name of [
    '127.0.0.1',
    'localhost',
    'LOCALHOST',
    '0x7f.1',
    '017700000001',
    '2130706433',
    '127。0．0｡1',
    '①②⑦.1',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[::1]',
    '[::]',
    '0.0.0.0',
    '0',
  ]) {
    await assert.rejects(run({ url: `http://${name}:${port}/` }), { code: 'RENDER_FETCH_REFUSED' }, name)
  }
  assert.equal(requests, 0)
})

test('proxies of the environment have no effect', async (t) => {
  let requests = 0
  const proxy = await listen(t, (_, response) => {
    requests++
    response.end('by proxy')
  })
  const host = await listen(t, (_, response) => response.end('direct'))
  for (const name of ['http_proxy', 'HTTP_PROXY', 'all_proxy', 'NODE_USE_ENV_PROXY']) {
    process.env[name] = name.startsWith('NODE') ? '1' : `http://${proxy}`
    t.after(() => delete process.env[name])
  }
  assert.equal((await fetcher(t, { allow: [host] })({ url: `http://${host}/` })).text, 'direct')
  assert.equal(requests, 0)
})

test('a redirect to a refused address is refused, also from an allowed one', async (t) => {
  const secret = await listen(t, (_, response) => response.end('secret'))
  const host = await listen(t, redirectTo(`http://${secret}/`))
  await assert.rejects(fetcher(t, { allow: [host] })({ url: `http://${host}/` }), { code: 'RENDER_FETCH_REFUSED' })
  await assert.rejects(fetcher(t, { allow: [host] })({ url: 'file:///etc/passwd' }), { code: 'RENDER_FETCH_REFUSED' })
})

test('redirects to another scheme, endless ones and those that are not wanted fail', async (t) => {
  const host = await listen(t, (request, response) =>
    redirectTo(request.url === '/file' ? 'file:///etc/passwd' : '/again')(request, response),
  )
  const run = fetcher(t, { allow: [host], limits: { maxRedirects: 3 } })
  await assert.rejects(run({ url: `http://${host}/file` }), { code: 'RENDER_FETCH_REFUSED' })
  await assert.rejects(run({ url: `http://${host}/` }), { code: 'RENDER_FETCH_FAILED', message: /too many redirects/ })
  await assert.rejects(run({ url: `http://${host}/`, redirect: 'error' }), { code: 'RENDER_FETCH_FAILED' })
  const manual = await run({ url: `http://${host}/`, redirect: 'manual' })
  assert.deepEqual([manual.head.status, manual.head.redirected], [302, false])
})

test('credentials follow within an origin and not to another, the method and body as the status says', async (t) => {
  const seen: string[] = []
  const record: RequestListener = async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString()
    seen.push([request.method, request.url, request.headers.authorization ?? '-', request.headers.cookie ?? '-', body].join(' '))
    response.end('done')
  }
  const other = await listen(t, record)
  const host = await listen(t, (request, response) => {
    if (request.url === '/same') redirectTo('/end', 307)(request, response)
    else if (request.url === '/other') redirectTo(`http://${other}/end`, 303)(request, response)
    else void record(request, response)
  })
  const run = fetcher(t, { allow: [host, other] })
  const headers: [string, string][] = [
    ['authorization', 'secret'],
    ['cookie', 'a=1'],
  ]
  const answer = await run({ url: `http://${host}/same#x`, method: 'POST', headers, body: Buffer.from('hello') })
  assert.deepEqual([answer.head.url, answer.head.redirected, answer.text], [`http://${host}/end`, true, 'done'])
  await run({ url: `http://${host}/other`, method: 'POST', headers, body: Buffer.from('hello') })
  assert.deepEqual(seen, ['POST /end secret a=1 hello', 'GET /end - - '])
})

test("the host's own fields are sent regardless of the fields that the site sets", async (t) => {
  const host = await listen(t, (request, response) => response.end(JSON.stringify(request.headers)))
  const run = fetcher(t, { allow: [host] })
  const { text } = await run({
    url: `http://${host}/`,
    headers: [
      ['cdn-loop', 'x'],
      ['host', 'evil'],
    ],
    cdnLoop: 'svc;two',
  })
  const headers = JSON.parse(text) as Record<string, string>
  assert.deepEqual([headers['cdn-loop'], headers['host']], ['svc;two, svc;one;t=x', host])
})

test('compressed answers are decompressed, and a broken one is an error', async (t) => {
  const body = 'compressed '.repeat(1000)
  const forms: Record<string, Buffer> = { gzip: gzipSync(body), br: brotliCompressSync(body), deflate: deflateSync(body) }
  const host = await listen(t, (request, response) => {
    const coding = (request.url ?? '').slice(1)
    response.setHeader('content-encoding', coding === 'cut' ? 'gzip' : coding)
    response.end(coding === 'cut' ? forms['gzip']?.subarray(0, 30) : forms[coding])
  })
  const run = fetcher(t, { allow: [host] })
  for (const coding of Object.keys(forms)) assert.equal((await run({ url: `http://${host}/${coding}` })).text, body)
  await assert.rejects(run({ url: `http://${host}/cut` }), { code: 'RENDER_FETCH_FAILED' })
})

test('an answer past the size limit is cut off, counted after decompression', async (t) => {
  const host = await listen(t, (_, response) => {
    response.setHeader('content-encoding', 'gzip')
    response.end(gzipSync(Buffer.alloc(100_000)))
  })
  const run = fetcher(t, { allow: [host], limits: { maxResponseBytes: 50_000 } })
  await assert.rejects(run({ url: `http://${host}/` }), { code: 'RENDER_FETCH_FAILED', message: /larger than 50000 bytes/ })
})

test('a server that does not answer times out, and an abort ends the wait', async (t) => {
  const host = await listen(t, () => undefined)
  await assert.rejects(fetcher(t, { allow: [host], limits: { headTimeoutMs: 50 } })({ url: `http://${host}/` }), {
    code: 'RENDER_FETCH_TIMEOUT',
  })
  const controller = new AbortController()
  const running = fetcher(t, { allow: [host] })({ url: `http://${host}/` }, controller.signal)
  controller.abort(new Error('client gone'))
  await assert.rejects(running, { code: 'RENDER_FETCH_FAILED', message: 'client gone' })
})

test('a slow reader slows the sender down', async (t) => {
  let written = 0
  const host = await listen(t, (_, response) => {
    const fill = () => {
      while (written < 32 * 1024 * 1024) {
        written += 65_536
        if (!response.write(Buffer.alloc(65_536))) {
          response.once('drain', fill)
          return
        }
      }
      response.end()
    }
    fill()
  })
  const rules: EgressRules = { allow: [host], allowLocal: false, own: [] }
  const site = new SiteFetch({ rules, loopMark: { instanceId: 'one', token: 'x' }, limits: siteFetchLimits })
  t.after(() => site.close())
  const controller = new AbortController()
  const first = Promise.withResolvers<void>()
  const running = site.run(
    { url: `http://${host}/`, method: 'GET', headers: [], redirect: 'follow', body: undefined, cdnLoop: '' },
    {
      head: () => undefined,
      piece: () => {
        first.resolve()
        return Promise.withResolvers<void>().promise
      },
    },
    controller.signal,
  )
  running.catch(() => undefined)
  await first.promise
  // Round trips through another connection give the sender every chance to run ahead.
  const probe = await listen(t, (_, response) => response.end())
  for (let i = 0; i < 50; i++) await fetch(`http://${probe}/`).then((answer) => answer.text())
  assert.ok(written < 24 * 1024 * 1024, `${written} bytes were sent to a reader that took one piece`)
})

test('a name that does not exist is an error that names it', async (t) => {
  await assert.rejects(fetcher(t, {})({ url: 'http://no-such-host.invalid/' }), {
    code: 'RENDER_FETCH_FAILED',
    message: /no-such-host\.invalid/,
  })
})
