import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type GenerationSpec, hostSpecOf, type KnownServers, packGeneration, unpackGeneration } from '@svc/protocol'

const server = (site: string) => ({ site, names: [{ kind: 'name', name: site }], rewrites: [], certificate: undefined })

function specWith(sites: readonly string[]): GenerationSpec {
  const web = { servers: sites.map(server), upstreams: [{ name: 'u' }], maps: [{ variable: 'm' }] }
  const config = { admin: {}, redis: {}, render: {}, server: {} }
  return { generation: 3, config, sites: [{ id: 'a' }], tls: { x: {} }, web } as unknown as GenerationSpec
}

test('a generation comes out as it went in', async () => {
  const spec = specWith(Array.from({ length: 3000 }, (_, index) => `site-${index}`))
  const packed = structuredClone(await packGeneration(spec))
  assert.equal(packed.servers.length, 3000)
  assert.ok(!('servers' in packed.web))
  const unpacked = await unpackGeneration(packed)
  assert.deepEqual(JSON.parse(JSON.stringify(unpacked)), JSON.parse(JSON.stringify(spec)))
})

test('servers whose texts are known are the same objects again, and no others are held', async () => {
  const known: KnownServers = new Map()
  const first = await unpackGeneration(await packGeneration(specWith(['a', 'b'])), known)
  const second = await unpackGeneration(await packGeneration(specWith(['b', 'c'])), known)
  assert.equal(second.web.servers[0], first.web.servers[1])
  assert.equal(known.size, 2)
  const third = await unpackGeneration(await packGeneration(specWith(['a'])), known)
  assert.notEqual(third.web.servers[0], first.web.servers[0])
})

test('others have their turn while many servers are unpacked', async () => {
  const packed = await packGeneration(specWith(Array.from({ length: 300_000 }, () => 'site')))
  let turns = 0
  let isDone = false
  const count = () => {
    turns++
    if (!isDone) setImmediate(count)
  }
  setImmediate(count)
  await unpackGeneration(packed)
  isDone = true
  assert.ok(turns > 1)
})

test('a render host hears nothing of vhost files, certificates, plugins, and users', () => {
  const spec = hostSpecOf(specWith(['a']), [])
  assert.deepEqual(Object.keys(spec).sort(), ['config', 'generation', 'listen', 'loopToken', 'moduleDir', 'sites'])
  assert.deepEqual(Object.keys(spec.config).sort(), ['cache', 'logging', 'render', 'scaling'])
  assert.equal(spec.generation, 3)
})
