// Runs alone: it starts and kills processes.
import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { request as httpRequest } from 'node:http'
import { join } from 'node:path'
import { test } from 'node:test'
import { codeOf } from '@svc/core'
import { PROCESS_WAIT_MS, waitFor } from '@svc/testkit'
import { Instance, type Running } from './harness.ts'

/**
 * Starts a request that the worker holds open; resolves when it has begun. `finish` sends the end of its body, upon which a
 * POST is answered.
 */
async function begin(server: Running, method = 'GET'): Promise<{ end: Promise<string>; finish(): void }> {
  const begun = Promise.withResolvers<void>()
  const end = Promise.withResolvers<string>()
  end.promise.catch(() => undefined)
  let text = ''
  const request = httpRequest(`${server.url}/wait`, { agent: false, method }, (response) => {
    response.on('data', (data) => {
      text += data
      begun.resolve()
    })
    response.on('end', () => end.resolve(text))
    response.on('error', end.reject)
  })
  request.on('error', begun.reject)
  if (method === 'GET') request.end()
  else request.flushHeaders()
  await begun.promise
  return { end: end.promise, finish: () => request.end() }
}

test('SIGTERM refuses new connections, lets a request in flight end and exits with 0', async (t) => {
  const server = await new Instance(t, { workers: 1 }).start()
  const { end, finish } = await begin(server, 'POST')
  server.child.signal('SIGTERM')
  await server.statusWhen('the drain', ({ workers }) => workers[0]?.state === 'draining')
  // The master says so before the worker has heard of it.
  const isRefused = (error: unknown) => codeOf(error) === 'ECONNREFUSED'
  await waitFor('connections to be refused', () => server.fetch('/').then(() => false, isRefused), PROCESS_WAIT_MS)
  finish()
  assert.equal(await end, 'begun\nended')
  assert.deepEqual(await server.child.exited, { code: 0, signal: null })
  assert.match(server.child.stderr, /"cut":0/)
})

test('connections left after the drain timeout are closed and counted, and the exit code is still 0', async (t) => {
  const server = await new Instance(t, { more: '[scaling]\ngraceful_shutdown_timeout_secs = 0' }).start()
  const { end } = await begin(server)
  server.child.signal('SIGINT')
  await assert.rejects(end)
  assert.deepEqual(await server.child.exited, { code: 0, signal: null })
  assert.match(server.child.stderr, /"cut":1/)
})

test('a second signal cuts at once', async (t) => {
  const server = await new Instance(t).start()
  const { end } = await begin(server)
  server.child.signal('SIGTERM')
  await server.statusWhen('the drain', ({ workers }) => workers[0]?.state === 'draining')
  server.child.signal('SIGTERM')
  await assert.rejects(end)
  assert.deepEqual(await server.child.exited, { code: 0, signal: null })
  assert.match(server.child.stderr, /second signal/)
  assert.match(server.child.stderr, /"cut":1/)
})

test('a stop over the control socket answers first and leaves only the numbers of its locks behind', async (t) => {
  const instance = new Instance(t)
  const server = await instance.start()
  const control = await server.control()
  assert.deepEqual(await control.call('stop', undefined, { timeoutMs: 60_000 }), { pid: server.child.pid })
  assert.equal((await server.child.exited).code, 0)
  const left = readdirSync(instance.runDir).map((name) => name.replace(/-[0-9a-f]{16}/, ''))
  assert.deepEqual(left.sort(), ['cache.lock.1', 'run.lock.1', 'state.lock.1'])
})

test('a stop during the start ends it', async (t) => {
  const instance = new Instance(t, { workers: 2 })
  const child = instance.spawn()
  // The first file of the run directory says that signals are listened to.
  await waitFor('the pid file', () => existsSync(join(instance.runDir, 'svc.pid')), PROCESS_WAIT_MS)
  child.signal('SIGTERM')
  assert.deepEqual(await child.exited, { code: 0, signal: null })
})

test('SIGUSR2 writes a report without environment into the state directory', async (t) => {
  const instance = new Instance(t)
  const server = await instance.start({ env: { SECRET_OF_THE_OPERATOR: 'hunter2' } })
  server.child.signal('SIGUSR2')
  const { path } = JSON.parse(await server.logged('wrote a diagnostic report'))
  assert.equal(statSync(path).mode & 0o777, 0o600)
  const text = readFileSync(path, 'utf8')
  assert.doesNotMatch(text, /hunter2/)
  assert.equal(JSON.parse(text).status.pid, server.child.pid)
})
