import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  copyFileSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { tempDir, tempSite } from '@svc/testkit'
import { ModuleCache } from '../src/caches.ts'
import { SiteCompiler, SiteResolver } from '../src/index.ts'

function cacheIn(dir: string): ModuleCache {
  return new ModuleCache({ modules: join(dir, 'm'), index: join(dir, 'c'), bytecode: join(dir, 'b') })
}

test('one changed byte anywhere in a file of bytecode is found, and the file goes', (t) => {
  const dir = tempDir(t, 'svc-cache')
  const cache = cacheIn(dir)
  const length = 300
  for (let at = 0; at < length + 17; at++) {
    cache.storeBytecode('name', Buffer.alloc(length, 7))
    const file = join(dir, 'b', 'name')
    const content = readFileSync(file)
    assert.equal(content.length, length + 17)
    content.writeUInt8(content.readUInt8(at) ^ 1, at)
    writeFileSync(file, content)
    assert.equal(cache.bytecode('name'), undefined, `byte ${at}`)
    assert.throws(() => readFileSync(file), { code: 'ENOENT' })
  }
  assert.equal(cache.counters.corrupt, length + 17)
  assert.equal(cache.counters.hits, 0)
})

test('text that was read does not change while more is read, for any file size', (t) => {
  const cache = cacheIn(tempDir(t, 'svc-cache'))
  const kib = 1024
  const sizes = [0, 1, 40 * kib, 64 * kib - 18, 64 * kib - 17, 64 * kib, 256 * kib - 17, 256 * kib, 700 * kib]
  const bodies = [...sizes, ...sizes.toReversed(), ...sizes].map((size, index) => Buffer.alloc(size, index + 1))
  for (const [index, body] of bodies.entries()) cache.storeBytecode(`n${index}`, body)
  const read = bodies.map((_, index) => {
    const bytes = cache.bytecode(`n${index}`)
    // Text is read between them, into memory that is used again.
    cache.indexed(`/path/${index}`)
    return bytes
  })
  for (const [index, body] of bodies.entries()) assert.ok(Buffer.compare(read[index] ?? Buffer.alloc(9), body) === 0, `${index}`)
})

test('code outside of ASCII, and its source maps, come from disk as they were stored', async (t) => {
  const root = tempSite(t, { 'page.ts': 'export const ü: string = "täglich ☃ 𝒳"\nexport const lone = "\\ud800"\n' })
  const dir = tempDir(t, 'svc-cache')
  const load = () => {
    const resolver = new SiteResolver(root)
    return new SiteCompiler({ resolver, cache: cacheIn(dir), mode: 'production', onLastGood: () => undefined }).load(
      join(root, 'page.ts'),
    )
  }
  const first = await load()
  const second = await load()
  assert.match(second.code, /täglich ☃ 𝒳/)
  assert.equal(second.code, first.code)
  assert.deepEqual(second.maps, first.maps)
  assert.equal(second.maps.length, 2)
})

test('a file that another user could have written, a link and a pipe are not read, and give way to what is stored', (t) => {
  const dir = tempDir(t, 'svc-cache')
  const cache = cacheIn(dir)
  const file = join(dir, 'b', 'name')
  const planted = join(dir, 'planted')
  cache.storeBytecode('name', Buffer.from('planted'))
  renameSync(file, planted)
  const plants: [name: string, plant: () => void][] = [
    ['a link', () => symlinkSync(planted, file)],
    ['a pipe', () => execFileSync('mkfifo', [file])],
    ['a directory', () => mkdirSync(file)],
    [
      'a file that everybody may write',
      () => {
        copyFileSync(planted, file)
        chmodSync(file, 0o602)
      },
    ],
  ]
  if (process.getuid?.() === 0) {
    plants.push([
      'a file of another user',
      () => {
        copyFileSync(planted, file)
        chownSync(file, 65_534, 65_534)
      },
    ])
  }
  for (const [name, plant] of plants) {
    plant()
    assert.equal(cache.bytecode('name'), undefined, name)
    rmSync(file, { recursive: true, force: true })
    cache.storeBytecode('name', Buffer.from('own'))
    assert.equal(Buffer.from(cache.bytecode('name') ?? []).toString(), 'own', name)
    rmSync(file)
  }
  assert.equal(cache.counters.corrupt, plants.length)
})
