import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SharedBodies } from '../src/isr/stored-sender.ts'
import { facts, IsrInstance, page } from './isr-instance.ts'
import { shop } from './pipeline-server.ts'

const bytes = (text: string) => Buffer.from(text)
const entryOf = (text: string) => ({ label: 'shop', path: '/', body: bytes(text) })

test('a failed coding is tried again', async () => {
  const failure = Promise.withResolvers<Uint8Array>()
  const results = [failure.promise, Promise.resolve(bytes('small'))]
  const bodies = new SharedBodies(() => results.shift() ?? assert.fail('it was made already'))
  const body = bodies.copyOf(entryOf('large'))
  const asked = [bodies.encode('gzip', body), bodies.encode('gzip', body)]
  failure.reject(new Error('no memory'))
  for (const promise of asked) await assert.rejects(promise, /no memory/)
  assert.equal(String(await bodies.encode('gzip', body)), 'small')
  assert.equal(String(await bodies.encode('gzip', body)), 'small')
})

test('bodies of one path that only have the same length are not taken for each other', () => {
  const bodies = new SharedBodies()
  const first = bodies.copyOf(entryOf('for one'))
  const second = bodies.copyOf(entryOf('for two'))
  assert.equal(String(first), 'for one')
  assert.equal(String(second), 'for two')
  assert.equal(bodies.copyOf(entryOf('for two')), second)
})

test('a body that is kept does not change with the memory that it came from', () => {
  const bodies = new SharedBodies()
  const entry = entryOf('before')
  const kept = bodies.copyOf(entry)
  entry.body.fill('x')
  assert.equal(String(kept), 'before')
})

test('many who ask for one page at once, with queries that it does not read, each get it whole', async (t) => {
  const instance = new IsrInstance()
  const { server } = await instance.worker(t, [shop])
  const text = 'a page of some length '.repeat(5_000)
  server.renderer.answer = ({ sink }) => sink.complete(page(facts()), bytes(text))
  const headers = { 'accept-encoding': 'gzip' }
  const answers = await Promise.all(Array.from({ length: 20 }, (_, i) => server.get(`/?${i}`, { headers })))
  await instance.settled()
  const again = await server.get('/?again', { headers })
  const plain = await server.get('/?plain')
  assert.equal(plain.text, text)
  assert.equal(server.renderer.requests.length, 1)
  for (const { headers: sent, body } of [...answers, again]) {
    assert.equal(sent['content-encoding'], 'gzip')
    assert.deepEqual(body, again.body)
  }
})
