import assert from 'node:assert/strict'
import { chmodSync, chownSync, mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { tempDir, writeFiles } from '@svc/testkit'
import { loadPlugins } from '../src/load/load-plugins.ts'

const text = (name: string) => `export default { name: '${name}', version: '1', hooks: {} }`

/** A directory with files that only the owner may change. */
function directory(t: TestContext, files: Readonly<Record<string, string>>): string {
  const dir = join(tempDir(t, 'plugins'), 'plugins')
  mkdirSync(dir)
  writeFiles(dir, files)
  chmodSync(dir, 0o755)
  for (const name of Object.keys(files)) chmodSync(join(dir, name), 0o644)
  return dir
}

const namesOf = async (dir: string) => (await loadPlugins(dir)).set?.plugins.map(({ name }) => name)
const problemsOf = async (dir: string) => (await loadPlugins(dir)).findings.map(({ message }) => message)

test('plugins are the modules at the top, in the order of their files; packages, other files and hidden ones are left alone', async (t) => {
  const dir = directory(t, {
    '20-b.mjs': text('b'),
    '10-c.js': text('c'),
    'a.mjs': text('a'),
    'lib/help.mjs': 'export const a = 1',
    'README.md': '',
    'types.d.ts': 'export {}',
    '.hidden.mjs': 'not a module (',
    'node_modules/x/index.js': 'module.exports = (',
  })
  assert.deepEqual(await namesOf(dir), ['c', 'b', 'a'])
  const { set } = await loadPlugins(dir)
  assert.equal(set?.sources.length, 4)
  assert.equal(set?.plugins[0]?.file, join(dir, '10-c.js'))
})

test('a change of one plugin changes its hash alone, a change of a module beside them those of all', async (t) => {
  const dir = directory(t, { 'a.mjs': text('a'), 'b.mjs': text('b'), 'lib/x.mjs': '' })
  const hashes = async () => (await loadPlugins(dir)).set?.plugins.map(({ hash }) => hash) ?? []
  const [a, b] = await hashes()
  writeFiles(dir, { 'a.mjs': `${text('a')}\n` })
  const [a2, b2] = await hashes()
  assert.notEqual(a2, a)
  assert.equal(b2, b)
  writeFiles(dir, { 'lib/x.mjs': 'export {}' })
  const [a3, b3] = await hashes()
  assert.notEqual(a3, a2)
  assert.notEqual(b3, b2)
})

test('what others can change is refused, by directory, file, subdirectory and owner', async (t) => {
  const dir = directory(t, { 'a.mjs': text('a'), 'lib/x.mjs': '' })
  for (const path of ['', 'a.mjs', 'lib', 'lib/x.mjs']) {
    const target = join(dir, path)
    for (const mode of [0o775, 0o757]) {
      chmodSync(target, mode)
      const [problem, ...more] = await problemsOf(dir)
      assert.equal(problem, `${target} can be changed by other users (mode 0${mode.toString(8)}): chmod go-w it`)
      assert.deepEqual(more, [])
    }
    chmodSync(target, 0o755)
  }
  assert.deepEqual(await problemsOf(dir), [])
  if (process.geteuid?.() !== 0) return
  chownSync(join(dir, 'a.mjs'), 12345, 0)
  assert.match((await problemsOf(dir))[0] ?? '', /a\.mjs belongs to user 12345: only root and root may own plugins/)
  const own = await loadPlugins(dir, { uid: 12345, name: 'svc' })
  assert.deepEqual(own.findings, [], 'the user of the server may own it')
})

test('links inside the directory are followed, those that leave it are refused', async (t) => {
  const dir = directory(t, { 'lib/real.mjs': text('alias') })
  const outside = directory(t, { 'evil.mjs': text('evil') })
  symlinkSync('lib/real.mjs', join(dir, 'alias.mjs'))
  assert.deepEqual(await problemsOf(dir), [])
  symlinkSync(join(outside, 'evil.mjs'), join(dir, 'evil.mjs'))
  assert.match((await problemsOf(dir))[0] ?? '', /evil\.mjs is a link to .*outside of plugins\.directory/)
  const linked = join(tempDir(t, 'link'), 'current')
  symlinkSync(outside, linked)
  assert.deepEqual(await namesOf(linked), ['evil'], 'the directory itself may be a link')
})

test('what cannot be a plugin is refused with its place', async (t) => {
  const cases: [files: Record<string, string>, problem: RegExp][] = [
    [{ 'a.mjs': 'const a = 1\nexport default {\n  hooks: { onRequest( }\n}' }, /a\.mjs:3: Unexpected token/],
    [{ 'lib/b.mjs': '\n}' }, /lib\/b\.mjs:2: /],
    [{ 'Auth.mjs': text('Auth') }, /Auth\.mjs has no name of a plugin/],
    [{ '1-a.mjs': text('a'), '2-a.js': text('a') }, /are both the plugin "a"/],
    [{ 'a.ts': 'export default {}' }, /a\.ts is no ES module in JavaScript/],
    [{ 'a.cjs': 'module.exports = {}' }, /a\.cjs is no ES module/],
    [{ 'a.mjs': `// ${'x'.repeat(1024 * 1024)}` }, /a\.mjs.*bytes; the limit is 1048576/],
    [Object.fromEntries(Array.from({ length: 65 }, (_, n) => [`p${n}.mjs`, text(`p${n}`)])), /has 65 plugins; at most 64/],
  ]
  for (const [files, problem] of cases) {
    const [first, ...more] = await problemsOf(directory(t, files))
    assert.match(first ?? '', problem)
    assert.deepEqual(more, [])
  }
  const gone = join(tempDir(t, 'gone'), 'plugins')
  assert.deepEqual(await problemsOf(gone), [`${gone} no such file`])
})

test('a directory of too many files is refused without reading all', async (t) => {
  const dir = directory(t, Object.fromEntries(Array.from({ length: 1_001 }, (_, n) => [`f${n}.txt`, ''])))
  assert.match((await problemsOf(dir))[0] ?? '', /holds more than 1000 files/)
})
