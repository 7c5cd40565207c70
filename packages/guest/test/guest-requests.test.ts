import assert from 'node:assert/strict'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { before, test } from 'node:test'
import { waitFor } from '@svc/testkit'
import { type Answer, buildGuestForTest, IsolateHarness } from './harness/isolate-harness.ts'

let dir = ''
before(async (t) => {
  dir = await buildGuestForTest(t as never)
})

const DEADLINE_MS = 60_000
type T = { after(fn: () => void): void }

async function withRoute(t: T, source: string, exposeGc = false): Promise<IsolateHarness> {
  const harness = await IsolateHarness.start(t, dir, { exposeGc })
  const id = '/site/route.ts'
  await harness.define(id, source)
  const route = { id: 'r', pattern: '/', segments: [], kind: 'handler', file: id, tree: null, metadata: null, slotParams: [] }
  await harness.enter('defineRoute', JSON.stringify(route))
  return harness
}

async function listen(t: T, server: Server): Promise<string> {
  t.after(() => server.close().closeAllConnections())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

const ended = (answer: Answer) => answer.ended.within(DEADLINE_MS, 'end of the request')

test('a throw in a timer, a microtask or a listener is logged under its request and harms nothing', async (t) => {
  const harness = await withRoute(
    t,
    `export async function GET() {
      setTimeout(() => { throw new RangeError('in timer') }, 0)
      queueMicrotask(() => { throw 'in microtask' })
      // Behind the other timer: the host fires them in their order.
      await new Promise((resolve) => setTimeout(resolve, 0))
      return new Response('fine')
    }`,
  )
  const first = await harness.run('handler', 'r')
  assert.equal(first.text, 'fine')
  const errors = harness.log.map(({ level, requestNumber, text }) => [level, requestNumber, text.split('\n')[0]])
  assert.deepEqual(errors, [
    ['error', 1, 'uncaught error in a microtask: Error: in microtask'],
    ['error', 1, 'uncaught error in a timer: RangeError: in timer'],
  ])
  assert.equal((await harness.run('handler', 'r')).text, 'fine')
})

test('a group of console that is not closed indents the lines of its own request only', async (t) => {
  const source = 'export function GET() { console.group("head"); console.log("line"); return new Response("fine") }'
  const harness = await withRoute(t, source)
  await harness.run('handler', 'r')
  await harness.run('handler', 'r')
  assert.deepEqual(
    harness.log.map(({ text }) => text),
    ['head', '  line', 'head', '  line'],
  )
})

test('a floating rejection reaches the host as a background error and the isolate goes on', async (t) => {
  const harness = await withRoute(
    t,
    `export async function GET() { Promise.reject(new Error('floating')); return new Response('fine') }`,
  )
  const { answer } = harness.begin('handler', 'r')
  await ended(answer)
  assert.equal(answer.text, 'fine')
  await waitFor('the background rejection', () => harness.background.length > 0)
  assert.match(String(harness.background[0]?.message), /floating/)
})

test('an abort ends the signal, the timers and the fetches of its request only', async (t) => {
  const waiting: ServerResponse[] = []
  const server = createServer((_request, response) => void waiting.push(response))
  const url = await listen(t, server)
  const harness = await withRoute(
    t,
    `export async function GET(request) {
      request.signal.addEventListener('abort', () => console.log('signal ' + request.signal.reason.name))
      const timer = new Promise((resolve) => setTimeout(resolve, 60_000))
      const failed = await fetch('${url}').then((response) => response.text(), (error) => error.name)
      console.log('fetch ' + failed)
      await timer
    }`,
  )
  const given = harness.begin('handler', 'r')
  const kept = harness.begin('handler', 'r')
  await waitFor('both fetches', () => waiting.length === 2 && harness.timerCount === 2)
  await harness.enter('abort', given.number)
  const isOver = () => harness.fetchCount === 1 && harness.log.length === 2 && harness.timerCount === 1
  await waitFor('the end of the fetch and the timer of the aborted request', isOver)
  assert.deepEqual(harness.log.map(({ requestNumber, text }) => [requestNumber, text]).sort(), [
    [given.number, 'fetch AbortError'],
    [given.number, 'signal AbortError'],
  ])
  assert.deepEqual([given.answer.head, given.answer.error, kept.answer.error], [undefined, undefined, undefined])
  for (const response of waiting) response.end('late')
  await waitFor('the kept fetch', () => harness.log.some(({ text }) => text === 'fetch late'))
})

test('a fetch follows its own signal, fails as TypeError and streams its body', async (t) => {
  const server = createServer((request, response) => {
    response.writeHead(request.method === 'POST' ? 201 : 200, { 'x-method': request.method, 'set-cookie': ['a=1', 'b=2'] })
    request.pipe(response)
  })
  const url = await listen(t, server)
  const harness = await IsolateHarness.start(t, dir)
  const body = `
    const name = (promise) => promise.then(() => 'ok', (error) => error.name)
    const out = [await name(fetch('ftp://a/')), await name(fetch('http://127.0.0.1:1/')), await name(fetch('${url}', { signal: AbortSignal.abort() }))]
    const response = await fetch('${url}', { method: 'POST', body: new ReadableStream({ start(c) { c.enqueue(new TextEncoder().encode('pö')); c.close() } }), duplex: 'half' })
    out.push(response.status, response.headers.get('x-method'), response.headers.getSetCookie(), response.url === '${url}', response.type)
    try { response.headers.set('a', 'b') } catch (error) { out.push(error.name) }
    let text = ''
    for await (const piece of response.body.pipeThrough(new TextDecoderStream())) text += piece
    out.push(text, await (await fetch(new Request('${url}', { method: 'PUT', body: new URLSearchParams({ a: 'b' }) }))).text())
    return Response.json(out)`
  const expected = ['TypeError', 'TypeError', 'AbortError', 201, 'POST', ['a=1', 'b=2'], true, 'basic', 'TypeError', 'pö', 'a=b']
  assert.deepEqual(await harness.evaluateAsync(body), expected)
})

test('a request body arrives in pieces, whole or as a stream, and ends with its request', async (t) => {
  const harness = await withRoute(
    t,
    `export async function POST(request) {
      const how = request.headers.get('x-how')
      if (how === 'none') return new Response('ignored')
      if (how === 'json') return Response.json([await request.json(), request.bodyUsed])
      const sizes = []
      for await (const piece of request.body) sizes.push(piece.byteLength)
      return Response.json(sizes)
    }`,
  )
  const send = async (how: string, pieces: readonly string[]) => {
    const { number, answer } = harness.begin('handler', 'r', { method: 'POST', hasBody: true, headers: [['x-how', how]] })
    for (const piece of pieces) await harness.enter('bodyChunk', number, new Uint8Array(Buffer.from(piece)).slice().buffer)
    await harness.enter('bodyChunk', number, undefined)
    await ended(answer)
    return answer.text
  }
  assert.equal(await send('json', ['{"a":', '"ü"}']), '[{"a":"ü"},true]')
  assert.equal(await send('stream', ['abc', 'de']), '[3,2]')
  assert.equal(await send('none', ['abc']), 'ignored')
})

test('a held answer waits for its consumer and goes on when it is resumed', async (t) => {
  const harness = await withRoute(
    t,
    `export function GET(request) {
      const turn = () => new Promise((resolve) => setTimeout(resolve, 0))
      let left = Number(request.headers.get('x-pieces'))
      const pull = async (controller) => {
        await turn()
        if (left-- > 0) controller.enqueue(new Uint8Array(1))
        else controller.close()
      }
      return new Response(new ReadableStream({ pull }, { highWaterMark: 0 }))
    }`,
  )
  const held = harness.begin('handler', 'r', { headers: [['x-pieces', '5']] })
  await harness.enter('hold', held.number)
  // Another request of twice the length runs meanwhile from begin to end.
  assert.equal((await harness.run('handler', 'r', { headers: [['x-pieces', '10']] })).pieces.length, 10)
  assert.ok(held.answer.pieces.length <= 1, `${held.answer.pieces.length} pieces came while held`)
  assert.equal(held.answer.facts, undefined)
  await harness.enter('resume', held.number)
  await ended(held.answer)
  assert.equal(held.answer.pieces.length, 5)
})

/** Code of a site that has replaced the built-ins which the guest uses, and notes what of the guest it is handed. */
const spies = `
  const { apply, ownKeys } = Reflect
  const { stringify } = JSON
  const found = Object.create(null)
  const isInner = (value) => (typeof value === 'object' && value !== null) && ('takeBody' in value || 'onPiece' in value || 'drop' in value)
  const parts = (value) => {
    if (typeof value !== 'object' || value === null) return [value]
    const { guest, request, context } = value
    return [value, guest, request, context, context && context.request]
  }
  const note = (name, values) => {
    for (let i = 0; i < values.length; i++) {
      const inner = parts(values[i])
      for (let at = 0; at < inner.length; at++) if (isInner(inner[at])) found[name] = true
    }
  }
  for (const owner of [Map, Set, WeakMap, Array, Promise]) {
    for (const key of ['get', 'set', 'has', 'add', 'delete', 'push', 'splice', 'then', 'catch']) {
      const native = owner.prototype[key]
      if (typeof native !== 'function') continue
      owner.prototype[key] = function (...args) {
        const result = apply(native, this, args)
        note(owner.name + '.' + key, args)
        note(owner.name + '.' + key, [this, result])
        return result
      }
    }
  }
  for (const iterator of [new Map().entries(), new Set().values()]) {
    const prototype = Object.getPrototypeOf(iterator)
    const { next } = prototype
    prototype.next = function () {
      const result = apply(next, this, [])
      const { value } = result
      note('iterator', value && value.length === 2 ? [value[0], value[1]] : [value])
      return result
    }
  }`

test('built-ins that a site has replaced are handed no request and no call of the guest', async (t) => {
  const server = createServer((_, response) => response.end('data'))
  const url = await listen(t, server)
  const harness = await withRoute(
    t,
    `import { AsyncLocalStorage } from 'async_hooks'
    ${spies}
    const storage = new AsyncLocalStorage()
    export async function GET(request) {
      console.group('group')
      const text = await storage.run(1, async () => {
        await new Promise((resolve) => setTimeout(resolve, 0))
        return await (await fetch('${url}')).text()
      })
      const timer = setTimeout(() => undefined, 60_000)
      clearTimeout(timer)
      return new Response(text + ownKeys(found).join(' '))
    }`,
  )
  assert.equal((await harness.run('handler', 'r')).text, 'data')
  const { number, answer } = harness.begin('handler', 'r')
  await harness.enter('abort', number)
  assert.equal(answer.isComplete, false)
  assert.equal((await harness.run('handler', 'r')).text, 'data')
})

test('a call of the host names the request that makes it, whatever a site does to JSON', async (t) => {
  const server = createServer((_, response) => response.end('data'))
  const url = await listen(t, server)
  const harness = await withRoute(
    t,
    `const { parse, stringify } = JSON
    const forged = (value) => (value && value.requestNumber === undefined ? value : { ...value, requestNumber: 99 })
    JSON.stringify = (value, ...rest) => stringify(forged(value), ...rest)
    JSON.parse = (text, ...rest) => parse(text.replace('200', '418'), ...rest)
    Object.defineProperty(Object.prototype, 'toJSON', { value() { return forged(this) } })
    export const GET = async () => new Response(String((await fetch('${url}')).status))`,
  )
  const { number, answer } = harness.begin('handler', 'r')
  await ended(answer)
  assert.equal(answer.text, '200')
  assert.deepEqual(harness.fetchedFor, [number])
})

test('inspect reports plain config exports and the error of a module that throws', async (t) => {
  const harness = await IsolateHarness.start(t, dir)
  await harness.define(
    '/site/m.ts',
    `export const config = { matcher: ['/a', { source: '/b' }] }\nexport const revalidate = 60\nexport const dynamic = () => 1\nexport const other = 1`,
  )
  await harness.define('/site/bad.ts', `throw { odd: true }`)
  const answer = await harness.run('inspect', '', { modules: ['/site/m.ts'] })
  assert.deepEqual(answer.facts?.modules, { '/site/m.ts': { config: { matcher: ['/a', { source: '/b' }] }, revalidate: 60 } })
  const failed = await harness.run('inspect', '', { modules: ['/site/bad.ts'] })
  assert.deepEqual([failed.error?.name, failed.error?.message], ['Error', 'A value was thrown that is no Error: {"odd":true}'])
})

test('the guest starts without its snapshot, too', async (t) => {
  const harness = await IsolateHarness.start(t, dir, { snapshot: false })
  assert.deepEqual(await harness.evaluate(`export const config = [typeof WebAssembly, typeof fetch, Headers.name]`), [
    'undefined',
    'function',
    'Headers',
  ])
})

test('10,000 requests leave no memory behind', async (t) => {
  const harness = await withRoute(
    t,
    `const store = new AsyncLocalStorage()
    export async function GET(request) {
      const timer = setTimeout(() => undefined, 60_000)
      clearTimeout(timer)
      return store.run({ big: 'x'.repeat(1000) }, async () => {
        await null
        return Response.json({ url: request.url, ids: Array.from({ length: 100 }, (_, i) => i) })
      })
    }`,
    true,
  )
  const batch = async (count: number) => {
    for (let i = 0; i < count; i += 100) await Promise.all(Array.from({ length: 100 }, () => harness.run('handler', 'r')))
    return await harness.settledHeapBytes()
  }
  const before = await batch(1_000)
  const after = await batch(10_000)
  // An object kept per request would take more than a megabyte; lazily compiled code takes some hundred kilobytes.
  assert.ok(after - before < 700_000, `heap grew by ${after - before} bytes`)
})
