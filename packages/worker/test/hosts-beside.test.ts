import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hostsBeside } from '../src/control/master-control-plane.ts'
import { PipelineServer, shop } from './pipeline-server.ts'

test('the hosts beside a host are the exact names of its site and itself; none for a host that no site claims', async (t) => {
  const wild = { id: 'wild', hostnames: ['*.wild.test', 'wild.test'], files: { 'app/page.tsx': '' } }
  const server = await PipelineServer.start(t, [{ ...shop, hostnames: ['shop.test', 'www.shop.test'] }, wild])
  const beside = (host: string) => hostsBeside(server.generation, host)
  assert.deepEqual(beside('WWW.shop.test:8080'), ['www.shop.test', 'shop.test'])
  assert.deepEqual(beside('a.wild.test'), ['a.wild.test', 'wild.test'])
  for (const host of ['', '127.0.0.1', 'localhost:80', 'other.test', 'bad host']) assert.equal(beside(host), undefined, host)
})
