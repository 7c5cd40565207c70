import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { get } from 'node:http'
import { join } from 'node:path'
import { test } from 'node:test'
import { codeOf } from '@svc/core'
import { waitFor } from '@svc/testkit'
import { Instance, type Running } from './harness.ts'

/** Starts a request that the worker holds open; resolves when it has begun. */
async function begin(server: Running): Promise<{ end: Promise<string> }> {
  const begun = Promise.withResolvers<void>()
  const end = Promise.withResolvers<string>()
  end.promise.catch(() => undefined)
  let text = ''
  const request = get(`${server.url}/wait`, { agent: false }, (response) => {
    response.on('data', (data) => {
      text += data
      begun.resolve()
    })
    response.on('end', () => end.resolve(text))
    response.on('error', end.reject)
  })
  request.on('error', begun.reject)
  await begun.promise
  return { end: end.promise }
}

test('SIGTERM refuses new connections, lets a request in flight end and exits with 0', async (t) => {
  const server = await new Instance(t, { workers: 1 }).start()
  const { end } = await begin(server)
  // Opened before the stop: new connections are refused after it.
  const release = await keepAlive(server)
  server.child.signal('SIGTERM')
  await server.statusWhen('the drain', ({ workers }) => workers[0]?.state === 'draining')
  // The master says so before the worker has heard of it.
  const isRefused = (error: unknown) => codeOf(error) === 'ECONNREFUSED'
  await waitFor('connections to be refused', () => server.fetch('/').then(() => false, isRefused))
  release()
  assert.equal(await end, 'begun\nended')
  assert.deepEqual(await server.child.exited, { code: 0, signal: null })
  assert.match(server.child.stderr, /"cut":0/)
})

/** Opens a connection and returns a function that asks for /release on it. */
async function keepAlive(server: Running): Promise<() => void> {
  const { connect } = await import('node:net')
  const url = new URL(server.url)
  const socket = connect(Number(url.port), url.hostname)
  socket.on('error', () => undefined)
  await new Promise((resolve) => socket.once('connect', resolve))
  // A request under way keeps its connection from counting as idle.
  socket.write('GET /release HTTP/1.1\r\nHost: a\r\nConnection: close\r\n')
  return () => socket.write('\r\n')
}

test('what is left after the time for the drain is cut and counted, and the exit is still 0', async (t) => {
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

test('a stop over the control socket answers first and leaves nothing behind', async (t) => {
  const instance = new Instance(t)
  const server = await instance.start()
  const control = await server.control()
  assert.deepEqual(await control.call('stop', undefined, { timeoutMs: 5000 }), { pid: server.child.pid })
  assert.equal((await server.child.exited).code, 0)
  assert.deepEqual(readdirSync(instance.runDir), [])
})

test('a stop during the start ends it', async (t) => {
  const instance = new Instance(t, { workers: 2 })
  const child = instance.spawn()
  // The first file of the run directory says that signals are listened to.
  const { waitFor } = await import('@svc/testkit')
  await waitFor('the pid file', () => existsSync(join(instance.runDir, 'svc.pid')))
  child.signal('SIGTERM')
  assert.deepEqual(await child.exited, { code: 0, signal: null })
})

test('SIGUSR2 writes a report without environment into the state directory', async (t) => {
  const instance = new Instance(t)
  const server = await instance.start({ env: { SECRET_OF_THE_OPERATOR: 'hunter2' } })
  server.child.signal('SIGUSR2')
  const { path } = JSON.parse(await server.logged('diagnostic report written'))
  assert.equal(statSync(path).mode & 0o777, 0o600)
  const text = readFileSync(path, 'utf8')
  assert.doesNotMatch(text, /hunter2/)
  assert.equal(JSON.parse(text).status.pid, server.child.pid)
})
