import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Addressed, KnownAddresses } from '../src/proxy-cache/known-addresses.ts'

const asked: Addressed = {
  scheme: 'http',
  clientHost: 'a.org',
  host: 'a.org',
  path: '/a',
  query: '',
  target: '/a',
  sent: '/a',
  label: 'site',
  zone: 'zone',
  place: 'http://up',
}

test('equal requests have the same address, and all others different ones', () => {
  const known = new KnownAddresses()
  const first = known.of(asked)
  assert.equal(known.of({ ...asked }), first)
  assert.equal(first?.uri, 'http://a.org/a')
  const others: readonly Partial<Addressed>[] = [
    { scheme: 'https' },
    { clientHost: 'b.org' },
    { clientHost: 'a.org.' },
    { host: 'b.org' },
    { path: '/b' },
    { query: 'q' },
    { target: '/x/../a' },
    { sent: '/b' },
    { label: 'other' },
    { zone: 'other' },
    { place: 'http://other' },
  ]
  const keys = others.map((other) => {
    assert.equal(known.of(asked)?.key, first?.key)
    return known.of({ ...asked, ...other })?.key
  })
  assert.equal(new Set([first?.key, ...keys]).size, others.length + 1)
  assert.equal(known.of({ ...asked, path: '/a%2Fb', target: '/a%2Fb', sent: '/a%2Fb' }), undefined)
})

test('a key of the operator stands for query and target, and keeps sites, hosts, paths and upstreams apart', () => {
  const known = new KnownAddresses()
  const keyed = { ...asked, key: 'de' }
  const first = known.of(keyed)
  assert.equal(known.of({ ...keyed, query: 'a=1', target: '/a?a=1', sent: '/a?a=1' })?.key, first?.key)
  assert.equal(first?.uri, 'http://a.org/a')
  const others: readonly Partial<Addressed>[] = [
    { key: 'en' },
    { clientHost: 'b.org' },
    { path: '/b' },
    { label: 'other' },
    { zone: 'other' },
    { place: 'http://other' },
  ]
  const keys = others.map((other) => known.of({ ...keyed, ...other })?.key)
  assert.equal(new Set([first?.key, known.of(asked)?.key, ...keys]).size, others.length + 2)
  assert.equal(known.of({ ...keyed, path: '/a%2Fb' }), undefined)
})

test('addresses that many different requests have pass without being kept for ever', () => {
  const known = new KnownAddresses()
  const first = known.of(asked)
  for (let index = 0; index < 2_000; index++) known.of({ ...asked, query: String(index), target: `/a?${index}` })
  assert.notEqual(known.of(asked), first)
  assert.deepEqual(known.of(asked), first)
})
