import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { before, test } from 'node:test'
import { buildGuestForTest, IsolateHarness } from './harness/isolate-harness.ts'

let dir = ''
before(async (t) => {
  dir = await buildGuestForTest(t as never)
})

/** Answers each request with its own path, after the ones before it: requests of several renders overlap. */
function startEcho(t: { after(fn: () => void): void }): Promise<string> {
  const server = createServer((request, response) => setImmediate(() => response.end(JSON.stringify({ path: request.url }))))
  t.after(() => server.close())
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}`))
  })
}

/** Places where a request of the test looks at its context. */
const CHECKS = 34

const probe = `
import { headers, cookies } from 'svc/headers'
import { AsyncLocalStorage as FromNode } from 'node:async_hooks'

const store = new AsyncLocalStorage()
const shared = new FromNode()
// A turn is a task of the host: the requests of the others run in between.
const turns = async (count) => { for (let n = 0; n < count; n++) await new Promise((resolve) => setTimeout(resolve, 0)) }
async function* numbers() { yield 1; await turns(1); yield 2; yield* inner() }
async function* inner() { await null; yield 3 }

async function looks(id) {
  const found = [(await headers()).get('x-id'), (await cookies()).get('id')?.value, store.getStore(), shared.getStore()?.id]
  return found.every((value) => value === id) ? [] : [found]
}

async function checks(id, origin) {
  const wrong = []
  let count = 0
  const check = async (where) => { count++; for (const found of await looks(id)) wrong.push([where, found]) }
  await check('start')
  await null
  await check('await null')
  await turns(id % 3)
  await check('timer')
  const response = await fetch(origin + '/' + id)
  await check('fetch')
  const body = await response.json()
  if (body.path !== '/' + id) wrong.push(['body', body])
  await check('json')
  await Promise.resolve().then(() => check('then'))
  await Promise.reject(new Error('x')).catch(() => check('catch'))
  await Promise.resolve().finally(() => check('finally'))
  await Promise.all([1, 2, 3].map(async (n) => { await turns(n); await check('all ' + n) }))
  await Promise.race([turns(1), turns(5)])
  await check('race')
  await Promise.allSettled([Promise.reject(1), turns(1)])
  await check('allSettled')
  await new Promise((resolve) => queueMicrotask(() => check('microtask').then(resolve)))
  await new Promise((resolve) => setTimeout(() => check('in timer').then(resolve), 0))
  await new Promise((resolve) => { let n = 0; const timer = setInterval(() => { if (++n === 2) { clearInterval(timer); check('interval').then(resolve) } }, 1) })
  await new Promise((resolve) => process.nextTick(() => check('nextTick').then(resolve)))
  for await (const n of numbers()) await check('async generator ' + n)
  for await (const n of [turns(1).then(() => 1), 2]) await check('for await ' + n)
  await Array.fromAsync([1, 2], async (n) => { await check('fromAsync'); return n })
  await { then(resolve) { check('thenable').then(resolve) } }
  await check('after thenable')
  try { await (async () => { await turns(1); throw new Error('y') })() } catch { await check('catch of await') } finally { await check('finally of await') }
  await new ReadableStream({ async start(c) { await turns(1); await check('stream'); c.enqueue(new Uint8Array(1)); c.close() } }).getReader().read()
  await check('after stream')
  await store.run('other', async () => { await turns(1); if (store.getStore() !== 'other') wrong.push('inner run') })
  await store.exit(async () => { await null; if (store.getStore() !== undefined) wrong.push('exit') })
  await check('after run')
  await new Promise((resolve) => { const c = new AbortController(); c.signal.addEventListener('abort', () => check('abort event').then(resolve)); setTimeout(() => c.abort(), 0) })
  const snapshot = AsyncLocalStorage.snapshot()
  await store.run('other', () => snapshot(() => check('snapshot')))
  await import('./late.ts')
  await check('dynamic import')
  return { wrong, count }
}

export async function GET(request) {
  const id = request.headers.get('x-id')
  const origin = request.headers.get('x-origin')
  return store.run(id, async () => {
    shared.enterWith({ id })
    return Response.json(await checks(id, origin))
  })
}
`

test('100 interleaved requests each see only their own headers, cookies and stores', async (t) => {
  const origin = await startEcho(t)
  const harness = await IsolateHarness.start(t, dir)
  await harness.define('/site/late.ts', 'export const late = 1')
  await harness.define('/site/route.ts', probe)
  const results = await Promise.all(
    Array.from({ length: 100 }, (_, id) => {
      const headers = [
        ['x-id', String(id)],
        ['cookie', `id=${id}`],
        ['x-origin', origin],
      ] as const
      return harness.runHandler('/site/route.ts', { headers })
    }),
  )
  const each = results as { wrong: unknown[]; count: number }[]
  assert.deepEqual(
    each.flatMap(({ wrong }) => wrong),
    [],
  )
  assert.deepEqual([...new Set(each.map(({ count }) => count))], [CHECKS])
  assert.deepEqual(harness.background, [])
})

test('nothing of a context is left when its request has ended', async (t) => {
  const harness = await IsolateHarness.start(t, dir)
  const source = `
    const store = new AsyncLocalStorage()
    export async function GET(request) {
      const seen = store.getStore() ?? null
      store.enterWith('left behind')
      await null
      return Response.json([seen, store.getStore()])
    }`
  await harness.define('/site/route.ts', source)
  assert.deepEqual(await harness.runHandler('/site/route.ts'), [null, 'left behind'])
  assert.deepEqual(await harness.runHandler('/site/route.ts'), [null, 'left behind'])
})

test('code that lost its context leaves none behind for the request after it', async (t) => {
  const harness = await IsolateHarness.start(t, dir)
  // The compiler does not see functions that are made at run time: they await natively, which carries no context.
  const source = `
    const store = new AsyncLocalStorage()
    const nativeAsync = new Function('task', 'return (async () => { await null; return task() })()')
    export async function GET(request) {
      const id = request.headers.get('x-id')
      const seen = await nativeAsync(() => { const before = store.getStore() ?? null; store.enterWith(id); return before })
      return Response.json(seen)
    }`
  await harness.define('/site/route.ts', source)
  const ask = (id: string) => harness.runHandler('/site/route.ts', { headers: [['x-id', id]] })
  assert.deepEqual([await ask('first'), await ask('second')], [null, null])
})

test('a module that is inspected leaves no context behind', async (t) => {
  const harness = await IsolateHarness.start(t, dir)
  await harness.evaluate('export const store = new AsyncLocalStorage(); store.enterWith("left behind")', '/site/store.ts')
  const source = `import { store } from './store.ts'\nexport const config = [store.getStore() ?? null]`
  assert.deepEqual(await harness.evaluate(source), [null])
})

test('an iterator whose results cannot be read fails its own loop, and takes no other request with it', async (t) => {
  const harness = await IsolateHarness.start(t, dir)
  const source = `
    import { headers } from 'svc/headers'
    const nativeAsync = new Function('task', 'return (async () => { await null; return task() })()')
    const bad = { get done() { throw new Error('unreadable') } }
    async function* outer() { yield* { [Symbol.asyncIterator]: () => ({ next: async () => bad }) } }
    async function* rejecting() { yield* { [Symbol.asyncIterator]: () => ({ next: async () => { throw new Error('own error') } }) } }
    const messageOf = (generator) => generator.next().then(() => 'none', (error) => error.message)
    const id = async () => (await headers()).get('x-id')
    export async function GET(request) {
      if (request.headers.get('x-id') === 'first') return Response.json([await messageOf(outer()), await messageOf(rejecting())])
      return Response.json(await nativeAsync(id).catch((error) => error.code))
    }`
  await harness.define('/site/route.ts', source)
  const ask = (id: string) => harness.runHandler('/site/route.ts', { headers: [['x-id', id]] })
  assert.deepEqual(await ask('first'), ['unreadable', 'own error'])
  assert.equal(await ask('second'), 'ROUTER_NO_REQUEST')
})

test('lowered code keeps the meaning of async functions and generators', async (t) => {
  const harness = await IsolateHarness.start(t, dir)
  const body = `
    const log = []
    const order = async () => { log.push('a'); await null; log.push('c') }
    const done = order(); log.push('b'); await done
    async function* delegate() { try { const sent = yield 1; log.push(sent) } finally { log.push('closed') } }
    async function* outer() { const result = yield* delegate(); yield 'never' }
    const it = outer(); await it.next(); await it.next('sent'); 
    async function* handsOn() { yield* (async function* () { log.push(yield 'inner') })(); yield* ['plain', Promise.resolve('awaited')] }
    const hands = handsOn(); for (const sent of ['', 'to inner', '', '']) log.push((await hands.next(sent)).value ?? 'end')
    const closing = outer(); await closing.next(); log.push(await closing.return('r'))
    async function* fails() { yield 1; throw new Error('inside') }
    try { for await (const n of fails()) log.push(n) } catch (error) { log.push(error.message) }
    const queue = (async function* () { yield 1; yield 2 })()
    log.push((await Promise.all([queue.next(), queue.next(), queue.next()])).map((r) => r.value ?? 'end'))
    class A { #p = 1; static s = 2; get p() { return this.#p } set p(v) { this.#p = v } async m() { return 'super' } has(o) { return #p in o } static #q() { return 3 } static q() { return A.#q() } }
    class B extends A { async m() { return (await super.m()) + '!' } }
    const b = new B(); b.p = 5
    log.push(await b.m(), b.p, b.has(b), b.has({}), A.s, A.q())
    try { A.prototype.p } catch (error) { log.push(error.constructor.name) }
    const { x, ...rest } = { x: 1, y: 2, get z() { return 3 } }
    log.push({ ...rest, ...'hi', ...null, get w() { return 4 } })
    const { x: taken, ...own } = JSON.parse('{"x":1,"__proto__":{"isAdmin":true}}')
    log.push(own.isAdmin ?? 'inherits nothing')
    const bad = async (value = (() => { throw new Error('default') })()) => value
    log.push(await bad().catch((error) => error.message))
    const freed = []
    { using r = { [Symbol.dispose]() { freed.push('sync') } }; await using s = { async [Symbol.asyncDispose]() { await null; freed.push('async') } } }
    log.push(freed)
    return Response.json(log)`
  const expected = [
    ...[
      'a',
      'b',
      'c',
      'sent',
      'closed',
      'inner',
      'to inner',
      'plain',
      'awaited',
      'end',
      'closed',
      { value: 'r', done: true },
      1,
      'inside',
      [1, 2, 'end'],
    ],
    ...[
      'super!',
      5,
      true,
      false,
      2,
      3,
      'TypeError',
      { 0: 'h', 1: 'i', y: 2, z: 3, w: 4 },
      'inherits nothing',
      'default',
      ['async', 'sync'],
    ],
  ]
  assert.deepEqual(await harness.evaluateAsync(body), expected)
})
