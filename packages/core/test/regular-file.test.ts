import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { tempDir } from '@svc/testkit'
import { readRegularFileSync } from '../src/files/regular-file.ts'

const maxBytes = 1_000
const refused = { code: 'CORE_FILE_REFUSED' }

test('only regular files within the limit are read, and nothing else blocks', (t) => {
  const dir = tempDir(t, 'svc-files')
  const at = (name: string) => join(dir, name)
  writeFileSync(at('text'), 'text')
  writeFileSync(at('full'), 'x'.repeat(maxBytes))
  writeFileSync(at('large'), '')
  truncateSync(at('large'), 1e12)
  symlinkSync('text', at('link'))
  mkdirSync(at('directory'))
  execFileSync('mkfifo', [at('fifo')])
  const socket = createServer().listen(at('socket'))
  t.after(() => socket.close())
  for (const name of ['text', 'link']) {
    assert.equal(readRegularFileSync(at(name), { maxBytes }).toString(), 'text')
  }
  assert.equal(readRegularFileSync(at('full'), { maxBytes }).byteLength, maxBytes)
  for (const path of [at('large'), at('directory'), at('fifo'), at('socket'), '/dev/zero']) {
    assert.throws(() => readRegularFileSync(path, { maxBytes }), refused, path)
  }
  assert.throws(() => readRegularFileSync(at('gone'), { maxBytes }), { code: 'ENOENT' })
})

test('a file that links lead out of its directory is not read', (t) => {
  const dir = tempDir(t, 'svc-files')
  mkdirSync(join(dir, 'in'))
  mkdirSync(join(dir, 'in-too'))
  writeFileSync(join(dir, 'in-too/text'), 'text')
  writeFileSync(join(dir, 'in/text'), 'text')
  symlinkSync('../in-too/text', join(dir, 'in/out'))
  symlinkSync('../in-too', join(dir, 'in/dir'))
  symlinkSync('text', join(dir, 'in/link'))
  const within = join(dir, 'in')
  assert.equal(readRegularFileSync(join(within, 'link'), { maxBytes, within }).toString(), 'text')
  for (const name of ['out', 'dir/text', '../in-too/text']) {
    assert.throws(() => readRegularFileSync(join(within, name), { maxBytes, within }), refused, name)
  }
})
