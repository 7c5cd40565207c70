import assert from 'node:assert/strict'
import { once } from 'node:events'
import { statSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { tempDir } from '@svc/testkit'
import { openToAll } from '../src/listener/binding.ts'

test('a socket is opened to all; one that another worker is just replacing is left to it', async (t) => {
  const path = join(tempDir(t), 'web.sock')
  openToAll(path)
  const server = createServer().listen(path)
  t.after(() => server.close())
  await once(server, 'listening')
  openToAll(path)
  assert.equal(statSync(path).mode & 0o777, 0o666)
  assert.throws(() => openToAll(join(path, 'below')), { code: 'ENOTDIR' })
})
