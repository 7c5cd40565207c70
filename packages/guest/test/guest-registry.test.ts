import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { buildGuestForTest, IsolateHarness } from './harness/isolate-harness.ts'

let dir = ''
before(async (t) => {
  dir = await buildGuestForTest(t as never)
})

test('a module that throws fails its request and runs again for the next one', async (t) => {
  const harness = await IsolateHarness.start(t, dir)
  await harness.define(
    '/site/bad.ts',
    `globalThis.tries = (globalThis.tries ?? 0) + 1\nif (globalThis.tries < 3) throw new TypeError('try ' + globalThis.tries)\nexport const tries = globalThis.tries`,
  )
  await harness.define('/site/user.ts', `import { tries } from './bad.ts'\nexport const config = tries`)
  await harness.define('/site/both.ts', `import './user.ts'`)
  const first = await harness.run('inspect', '', { modules: ['/site/user.ts', '/site/both.ts'] })
  assert.equal(first.error?.name, 'TypeError')
  assert.equal(first.error?.message, 'try 1')
  assert.match(first.error?.stack ?? '', /\/site\/bad\.ts/)
  assert.equal((await harness.run('inspect', '', { modules: ['/site/both.ts'] })).error?.message, 'try 2')
  assert.equal((await harness.run('inspect', '', { modules: ['/site/user.ts'] })).facts?.modules?.['/site/user.ts']?.config, 3)
})

test('an unresolved or missing specifier fails when it is required, with its message', async (t) => {
  const harness = await IsolateHarness.start(t, dir)
  await assert.rejects(harness.evaluate(`import 'nowhere'`), { message: "Cannot find package 'nowhere'" })
  await assert.rejects(harness.evaluate(`import './gone.ts'`), { message: 'Module /site/gone.ts is not loaded' })
  const caught = `const load = (name) => import(name).then(() => 'loaded', (error) => error.code)`
  assert.equal(await harness.evaluateAsync(`${caught}\nreturn Response.json(await load('unknown'))`), 'MODULE_NOT_FOUND')
  await harness.enter('define', 'builtin:react', 'json', '{}', '1')
  assert.match(String(harness.background[0]?.message), /cannot be defined/)
})

test('imports are live bindings, also in cycles and through re-exports', async (t) => {
  const harness = await IsolateHarness.start(t, dir)
  await harness.define(
    '/site/counter.ts',
    `export let count = 0\nexport function up() { count++ }\nexport default class Thing { static n = 7 }`,
  )
  await harness.define(
    '/site/star.ts',
    `export * from './counter.ts'\nexport * as all from './counter.ts'\nexport { count as renamed, default as Other } from './counter.ts'\nexport const own = 1`,
  )
  await harness.define(
    '/site/a.ts',
    `import { b } from './b.ts'\nexport function a() { return 'a' + b() }\nexport const first = b()`,
  )
  await harness.define(
    '/site/b.ts',
    `import { a } from './a.ts'\nexport function b() { return 'b' }\nexport const later = () => a()`,
  )
  const source = `
    import * as star from './star.ts'
    import { first } from './a.ts'
    import { later } from './b.ts'
    import Default, { up, count } from './counter.ts'
    const before = count
    up()
    export const config = [before, count, star.renamed, star.count, star.all.count, star.Other === Default, star.default === undefined, Object.keys(star).sort(), first, later(), typeof import.meta.url]`
  const keys = ['Other', 'all', 'count', 'own', 'renamed', 'up']
  assert.deepEqual(await harness.evaluate(source), [0, 1, 1, 1, 1, true, true, keys, 'b', 'ab', 'string'])
})

test('CommonJS and ES modules see each other as bundlers do it', async (t) => {
  const harness = await IsolateHarness.start(t, dir)
  await harness.define('/site/plain.cjs', `exports.x = 1; exports.late = () => require('./other.cjs').value`)
  await harness.define('/site/other.cjs', `const plain = require('./plain.cjs'); module.exports = { value: plain.x + 1 }`)
  await harness.define('/site/fn.cjs', `module.exports = function fn() { return 'called' }; module.exports.extra = 2`)
  await harness.define(
    '/site/transpiled.cjs',
    `Object.defineProperty(exports, '__esModule', { value: true }); exports.default = 'dflt'; exports.named = 'n'`,
  )
  await harness.define('/site/esm.ts', `export default 'D'\nexport const e = 'E'`)
  await harness.define(
    '/site/uses-esm.cjs',
    `const m = require('./esm.ts'); module.exports = [m.default, m.e, m.__esModule, typeof require('react').createElement, require('svc/link').__esModule, __filename, __dirname]`,
  )
  await harness.define('/site/data.json', '{"a":1,"b":[2]}')
  await harness.define('/site/uses-json.cjs', `module.exports = require('./data.json')`)
  const source = `
    import plain, { x, late } from './plain.cjs'
    import fn, { extra } from './fn.cjs'
    import dflt, { named } from './transpiled.cjs'
    import used from './uses-esm.cjs'
    import data, { a } from './data.json'
    import viaCjs from './uses-json.cjs'
    import React, { createElement } from 'react'
    import path, { join } from 'node:path'
    import EventEmitter, { once } from 'events'
    export const config = [plain.x, x, late(), fn(), extra, dflt, named, used, data.b, a, viaCjs === data, React.createElement === createElement, path.join === join, new EventEmitter() instanceof EventEmitter.EventEmitter, typeof once]`
  const used = ['D', 'E', true, 'function', true, '/site/uses-esm.cjs', '/site']
  const expected = [1, 1, 2, 'called', 2, 'dflt', 'n', used, [2], 1, true, true, true, true, 'function']
  assert.deepEqual(await harness.evaluate(source), expected)
})

test('a package that extends EventEmitter the old way works', async (t) => {
  const harness = await IsolateHarness.start(t, dir)
  const emitter = `const { inherits } = require('util')
const EventEmitter = require('events')
function Bus() { EventEmitter.call(this) }
inherits(Bus, EventEmitter)
module.exports = Bus`
  await harness.define('/site/bus.cjs', emitter)
  const source = `import Bus from './bus.cjs'
    const heard = []
    const bus = new Bus().once('a', (value) => heard.push(value))
    bus.emit('a', 1)
    export const config = [heard, bus.emit('a', 2), bus.listenerCount('a')]`
  assert.deepEqual(await harness.evaluate(source), [[1], false, 0])
})

test('a CommonJS cycle sees the exports so far', async (t) => {
  const harness = await IsolateHarness.start(t, dir)
  await harness.define('/site/one.cjs', `exports.early = 1; const two = require('./two.cjs'); exports.late = two.seen`)
  await harness.define('/site/two.cjs', `const one = require('./one.cjs'); exports.seen = [one.early, one.late]`)
  assert.deepEqual(
    await harness.evaluate(`import { late } from './one.cjs'\nexport const config = late.map((v) => v ?? 'none')`),
    [1, 'none'],
  )
})

test('evicted modules run again, others keep their instance', async (t) => {
  const harness = await IsolateHarness.start(t, dir)
  await harness.define('/site/kept.ts', `export const born = Math.random()`)
  await harness.define('/site/changed.ts', `export const text = 'old'`)
  const user = `import { born } from './kept.ts'\nimport { text } from './changed.ts'\nexport const config = { born, text }`
  const before = (await harness.evaluate(user, '/site/user.ts')) as { born: number; text: string }
  await harness.enter('evict', JSON.stringify(['/site/changed.ts', '/site/user.ts']))
  await harness.define('/site/changed.ts', `export const text = 'new'`)
  const after = (await harness.evaluate(user, '/site/user.ts')) as { born: number; text: string }
  assert.deepEqual([before.text, after.text, before.born === after.born], ['old', 'new', true])
})

test('style sheets reach the page in the order of their first import, classes reach the importer', async (t) => {
  const harness = await IsolateHarness.start(t, dir)
  await harness.define('/site/base.css', JSON.stringify({ css: 'b{x:1}', classes: {} }))
  await harness.define('/site/card.module.css', JSON.stringify({ css: '.c1{x:2}', classes: { card: 'c1' } }))
  await harness.define(
    '/site/card.tsx',
    `import styles, { card } from './card.module.css'\nexport const Card = () => <i className={styles.card + card} />`,
  )
  await harness.define(
    '/site/page.tsx',
    `import './base.css'\nimport { Card } from './card.tsx'\nexport default function Page() { return <Card /> }`,
  )
  const tree = { segment: '', page: '/site/page.tsx', metadata: [], slots: {} }
  const route = {
    id: 'page:/',
    pattern: '/',
    segments: [],
    kind: 'page',
    file: '/site/page.tsx',
    tree,
    metadata: null,
    slotParams: [],
  }
  await harness.enter('defineRoute', JSON.stringify(route))
  const { text, head } = await harness.run('page', 'page:/', { mayStream: false })
  assert.equal(head?.status, 200)
  assert.match(text, /<i class="c1c1">/)
  assert.ok(text.indexOf('b{x:1}') >= 0 && text.indexOf('b{x:1}') < text.indexOf('.c1{x:2}'), text)
})
