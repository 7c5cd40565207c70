import assert from 'node:assert/strict'
import { readFileSync, statSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { Instance } from './harness.ts'

test('a server starts, says so in one line, and serves with as many workers as configured', async (t) => {
  const instance = new Instance(t, { workers: 2 })
  const server = await instance.start({ env: { SECRET_OF_THE_OPERATOR: 'x' } })
  assert.equal(server.ready.pid, server.child.pid)
  assert.equal(server.ready.workers, 2)
  assert.equal(server.ready.sites, 1)
  assert.equal(server.ready.generation, 1)
  assert.match(server.url, /^http:\/\/127\.0\.0\.1:[1-9]\d*$/)
  assert.equal(server.child.stdout.trim().split('\n').length, 1)
  const worker = await server.worker()
  assert.equal(worker.generation, 1)
  assert.equal(worker.hosts.length, 1)
  assert.equal(worker.hosts[0]?.sites, '*')
  assert.ok(worker.env.includes('UWS_HTTP_MAX_HEADERS_SIZE'))
  assert.ok(!worker.env.includes('SECRET_OF_THE_OPERATOR'))
  assert.equal(readFileSync(join(instance.runDir, 'svc.pid'), 'utf8'), `${server.child.pid}\n`)
  const own = join(instance.dir, '.svc')
  for (const directory of [instance.runDir, own, join(own, 'state'), join(own, 'cache'), join(own, 'cache/modules')])
    assert.equal(statSync(directory).mode & 0o777, 0o700, directory)
  assert.equal(statSync(join(instance.runDir, 'control.sock')).mode & 0o777, 0o600)

  const socket = connect({ path: worker.hosts[0]?.socket ?? '' })
  const host = JSON.parse((await socket.toArray()).join(''))
  const settings = ['MALLOC_MMAP_THRESHOLD_', 'MALLOC_TOP_PAD_', 'MALLOC_TRIM_THRESHOLD_', 'SVC_RUN_DIR']
  const allowed = [...settings, 'JOURNAL_STREAM', 'LANG', 'NODE_COMPILE_CACHE', 'PATH', 'TZ']
  const pipe = ['NODE_CHANNEL_FD', 'NODE_CHANNEL_SERIALIZATION_MODE']
  assert.deepEqual(
    host.env.filter((key: string) => ![...allowed, ...pipe].includes(key)),
    [],
  )

  const exit = await server.child.stop()
  assert.deepEqual(exit, { code: 0, signal: null })
})
