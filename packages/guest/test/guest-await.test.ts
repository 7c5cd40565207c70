import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { buildGuestForTest, IsolateHarness } from './harness/isolate-harness.ts'

let dir = ''
before(async (t) => {
  dir = await buildGuestForTest(t as never)
})

/** Each expression is awaited in an async function, and as a step of an async generator; `outcome` is how that ends. */
const cases: [name: string, setup: string, expression: string, outcome: string][] = [
  ['a value', '', '7', 'value 7'],
  ['null', '', 'null', 'value null'],
  ['a promise', '', 'Promise.resolve(1)', 'value 1'],
  ['a rejected promise', '', 'Promise.reject(1)', 'error 1'],
  [
    "a promise-like as React's",
    `function Like(value) { this.value = value }
Like.prototype = Object.create(Promise.prototype)
Like.prototype.then = function (resolve) { resolve(this.value) }`,
    'new Like(2)',
    'value 2',
  ],
  ['an object that inherits then of Promise', '', 'Object.create(Promise.prototype)', 'error TypeError'],
  [
    'an object of the class without then',
    '',
    'Object.assign(Object.create(Promise.prototype), { then: 1, a: 3 })',
    'value {"then":1,"a":3}',
  ],
  ['an instance of a subclass', 'class Sub extends Promise {}', 'new Sub((resolve) => resolve(4))', 'value 4'],
  [
    'an instance of a subclass with a then of its own',
    'class Sub extends Promise { then(resolve) { return super.then((value) => resolve(value + 1)) } }',
    'new Sub((resolve) => resolve(4))',
    'value 5',
  ],
  [
    'a subclass that names Promise as its constructor',
    'class Sub extends Promise {}\nSub.prototype.constructor = Promise',
    'new Sub((resolve) => resolve(6))',
    'value 6',
  ],
  ['a throwing then', '', '({ get then() { throw 8 } })', 'error 8'],
  ['a throwing constructor of a thenable', '', '({ get constructor() { throw 8 }, then(resolve) { resolve(9) } })', 'value 9'],
  [
    'a throwing constructor of a promise',
    '',
    'Object.defineProperty(Promise.resolve(1), "constructor", { get() { throw 8 } })',
    'error 8',
  ],
  ['a proxy of a promise', '', 'new Proxy(Promise.resolve(1), {})', 'error TypeError'],
  [
    'a proxy with throwing traps',
    '',
    'new Proxy({}, { getPrototypeOf() { throw 1 }, get(target, name) { return name === "then" ? (resolve) => resolve(3) : undefined } })',
    'value 3',
  ],
  ['a thenable that settles twice', '', '({ then(resolve, reject) { resolve(1); reject(2); resolve(3) } })', 'value 1'],
  ['a thenable that throws after it settled', '', '({ then(resolve) { resolve(1); throw 2 } })', 'value 1'],
  ['a thenable of a thenable', '', '({ then(resolve) { resolve({ then(done) { done(5) } }) } })', 'value 5'],
  [
    'a thenable whose then is read once',
    '',
    '(() => { let reads = 0; return { get then() { reads++; return (resolve) => resolve(reads) } } })()',
    'value 1',
  ],
  [
    'no thenable whose then is read once',
    '',
    '(() => { let reads = 0; return { get then() { reads++ }, toJSON: () => reads } })()',
    'value 1',
  ],
]

test('await takes every kind of promise and thenable as the engine does, in the context of its request', async (t) => {
  const harness = await IsolateHarness.start(t, dir)
  for (const [name, setup, expression, outcome] of cases) {
    const body = `
${setup}
const text = (error) => (error instanceof Error ? error.name : String(error))
const store = new AsyncLocalStorage()
const run = async (make) => { try { return 'value ' + (await make()) } catch (error) { return 'error ' + text(error) } }
async function awaited() { return JSON.stringify(await (${expression})) }
async function* steps() { yield JSON.stringify(await (${expression})) }
async function stepped() { for await (const step of steps()) return step }
const found = []
for (const make of [awaited, stepped]) found.push(await store.run('own', async () => [await run(make), store.getStore()].join(' in ')))
return Response.json(found)`
    assert.deepEqual(await harness.evaluateAsync(body), [`${outcome} in own`, `${outcome} in own`], name)
  }
})

test('a thenable runs its query in the context of the code that waits for it', async (t) => {
  const harness = await IsolateHarness.start(t, dir)
  const body = `
const store = new AsyncLocalStorage()
const like = { __proto__: Promise.prototype, then(resolve) { resolve(store.getStore()) } }
const found = await store.run('own', async () => [await like, await { then(resolve) { resolve(store.getStore()) } }])
return Response.json(found)`
  assert.deepEqual(await harness.evaluateAsync(body), ['own', 'own'])
})
