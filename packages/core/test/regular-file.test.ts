import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { linkSync, mkdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { tempDir } from '@svc/testkit'
import { loadRegularFile, readBounded, readRegularFileSync } from '../src/files/regular-file.ts'

const maxBytes = 1_000
const refused = { code: 'CORE_FILE_REFUSED' }

test('only regular files within the limit are read, and nothing else blocks', async (t) => {
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
    assert.equal((await loadRegularFile(at(name), { maxBytes })).bytes.toString(), 'text')
  }
  assert.equal(readRegularFileSync(at('full'), { maxBytes }).byteLength, maxBytes)
  for (const path of [at('large'), at('directory'), at('fifo'), at('socket'), '/dev/zero']) {
    assert.throws(() => readRegularFileSync(path, { maxBytes }), refused, path)
    await assert.rejects(loadRegularFile(path, { maxBytes }), refused, path)
  }
  assert.throws(() => readRegularFileSync(at('gone'), { maxBytes }), { code: 'ENOENT' })
})

test('a file that links lead out of its directory is not read', async (t) => {
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
    await assert.rejects(loadRegularFile(join(within, name), { maxBytes, within }), refused, name)
  }
})

test('a file that has no size before it is read, as those of /proc, is read to its end, and no further than the limit', async () => {
  const whole = readRegularFileSync('/proc/self/status', { maxBytes: 100_000 })
  assert.match(whole.toString(), /^Name:/)
  const { bytes, stat } = await loadRegularFile('/proc/self/maps', { maxBytes: 10_000_000 })
  assert.ok(stat.size === 0 && bytes.byteLength > 4_096, String(bytes.byteLength))
  for (const limit of [10, 5_000]) {
    assert.throws(() => readRegularFileSync('/proc/self/maps', { maxBytes: limit }), refused)
    await assert.rejects(loadRegularFile('/proc/self/maps', { maxBytes: limit }), refused)
  }
})

test('a private file is read only if it belongs to this user alone, under one name', async (t) => {
  const dir = tempDir(t, 'svc-files')
  const limits = { maxBytes, isPrivate: true }
  for (const [name, mode] of Object.entries({ own: 0o600, shared: 0o640 })) {
    writeFileSync(join(dir, name), 'text', { mode })
  }
  writeFileSync(join(dir, 'twice'), 'text', { mode: 0o600 })
  linkSync(join(dir, 'twice'), join(dir, 'other-name'))
  symlinkSync('own', join(dir, 'link'))
  assert.equal(readRegularFileSync(join(dir, 'own'), limits).toString(), 'text')
  for (const [name, code] of [
    ['shared', 'CORE_FILE_REFUSED'],
    ['twice', 'CORE_FILE_REFUSED'],
    ['link', 'ELOOP'],
  ] as const) {
    assert.throws(() => readRegularFileSync(join(dir, name), limits), { code }, name)
    await assert.rejects(loadRegularFile(join(dir, name), limits), { code }, name)
  }
})

test('a refusal is explained to users who chose the file themselves', async (t) => {
  const dir = tempDir(t, 'svc-files')
  writeFileSync(join(dir, 'large'), 'x'.repeat(maxBytes + 1))
  assert.deepEqual(await readBounded(dir, maxBytes), { ok: false, why: 'is a directory, not a file', code: 'EISDIR' })
  const large = { ok: false, why: 'is larger than 1000 bytes', code: undefined }
  assert.deepEqual(await readBounded(join(dir, 'large'), maxBytes), large)
  assert.deepEqual(await readBounded(join(dir, 'gone'), maxBytes), { ok: false, why: 'no such file', code: 'ENOENT' })
})
