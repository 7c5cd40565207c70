// Runs alone: it counts the open descriptors of its process.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { tempDir } from '@svc/testkit'
import { connectUnix, listenUnix } from '../src/index.ts'

const openFiles = () => readdirSync('/proc/self/fd').length

test('a socket in a directory with a path of any length is listened on, connected to and removed', async (t) => {
  const dir = join(tempDir(t), ...Array.from({ length: 3 }, () => 'd'.repeat(100)))
  mkdirSync(dir, { recursive: true })
  for (const path of [join(dir, 'one.sock'), join(tempDir(t), 'short.sock')]) {
    const before = openFiles()
    const server = createServer((socket) => socket.end('hello'))
    listenUnix(server, path)
    await once(server, 'listening')
    assert.ok(existsSync(path))
    const socket = connectUnix(path)
    assert.equal((await socket.toArray()).join(''), 'hello')
    server.close()
    await once(server, 'close')
    assert.equal(existsSync(path), false)
    assert.equal(openFiles(), before)
  }
})

test('a path that does not exist is an error of the socket and the server, and keeps nothing open', async (t) => {
  const dir = join(tempDir(t), ...Array.from({ length: 3 }, () => 'd'.repeat(100)))
  const before = openFiles()
  await assert.rejects(once(connectUnix(join(dir, 'x.sock')), 'connect'), { code: 'ENOENT' })
  mkdirSync(dir, { recursive: true })
  await assert.rejects(once(connectUnix(join(dir, 'x.sock')), 'connect'), { code: 'ENOENT' })
  const first = createServer()
  listenUnix(first, join(dir, 'x.sock'))
  await once(first, 'listening')
  const between = openFiles()
  const second = createServer()
  listenUnix(second, join(dir, 'x.sock'))
  await assert.rejects(once(second, 'listening'), { code: 'EADDRINUSE' })
  assert.equal(openFiles(), between)
  first.close()
  await once(first, 'close')
  assert.equal(openFiles(), before)
})
