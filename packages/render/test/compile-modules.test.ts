// Runs alone: it starts many processes.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { ModuleCache } from '@svc/compile/caches'
import { tempDir, tempSite } from '@svc/testkit'
import { SiteScanner } from '../src/host/site-scanner.ts'
import { ModuleCompilers } from '../src/scan/compile-modules.ts'
import { CompileClient } from '../src/thread/compile-client.ts'

/** A compiler of a site, asked directly: `replies` has the characters of each answer as it would cross to the host. */
function setup(t: TestContext, root: string) {
  const dir = tempDir(t, 'svc-cache')
  const cacheDirs = { modules: join(dir, 'm'), index: join(dir, 'c'), bytecode: join(dir, 'b') }
  const compilers = new ModuleCompilers()
  const replies: number[] = []
  const client = new CompileClient({
    cache: new ModuleCache(cacheDirs),
    compile: async (view, ids) => {
      const reply = await compilers.compile({ root, mode: 'production', cacheDirs, modules: { view, ids: [...ids] } })
      replies.push(JSON.stringify(reply).length)
      return reply
    },
    onLastGood: () => undefined,
  })
  const load = async (ids: string[]) => {
    const found = new Map<string, unknown>()
    for await (const [id, module] of client.compile(ids)) found.set(id, module instanceof Error ? module : module.dependencies)
    return found
  }
  return { load, replies, cacheDirs }
}

test('modules with imports of many megabytes come in answers of a bounded size, and all of them come', async (t) => {
  const specifiers = Array.from({ length: 250 }, (_, i) => `./b.js?${i}${'x'.repeat(3_500)}`)
  const text = specifiers.map((one) => `import '${one}'`).join('\n')
  const names = Array.from({ length: 30 }, (_, i) => `${i}.js`)
  const root = tempSite(t, { 'b.js': '', ...Object.fromEntries(names.map((name) => [name, text])) })
  const { load, replies } = setup(t, root)
  const found = await load(names.map((name) => join(root, name)))
  assert.equal(found.size, names.length)
  for (const dependencies of found.values()) {
    assert.deepEqual(new Set(Object.values(dependencies as Record<string, string>)), new Set([join(root, 'b.js')]))
  }
  assert.ok(replies.length > 2 && Math.max(...replies) < 10 * 1024 * 1024, replies.join())
})

test('an error that quotes a megabyte of the source is cut', async (t) => {
  const long = 'x'.repeat(1024 * 1024)
  const root = tempSite(t, {
    'a.js': `import './${long}'`,
    'b.js': `let ${long}; let ${long}`,
    'c.css': `@import "./${long}.css";`,
  })
  const { load, replies } = setup(t, root)
  for (const name of ['a.js', 'b.js', 'c.css']) {
    const error = (await load([join(root, name)])).get(join(root, name))
    assert.ok(error instanceof Error && error.message.length < 20_000, name)
  }
  assert.ok(Math.max(...replies) < 100_000, replies.join())
})

test('a package.json that becomes a pipe between its check and its use ends the process, and not the host', async (t) => {
  const root = tempSite(t, {
    'app/a.js': `import 'x/a'`,
    'app/b.js': `import 'x/b'`,
    'app/node_modules/x/a.js': '',
    // Checked for the first import, opened only for the second one.
    'node_modules/x/package.json': '{}',
    'node_modules/x/b.js': '',
  })
  const dir = tempDir(t, 'svc-scan')
  const main = new URL('../src/scan/main.ts', import.meta.url)
  const { cacheDirs } = setup(t, root)
  const scanner = new SiteScanner({ program: slowClock(dir, main), compileTimeoutMs: 10_000 })
  t.after(() => scanner.close())
  const view = randomUUID()
  const compile = (name: string) =>
    scanner.compile({ root, mode: 'production', cacheDirs, modules: { view, ids: [join(root, 'app', name)] } })
  assert.deepEqual((await compile('a.js')).modules[0]?.dependencies, { 'x/a': join(root, 'app/node_modules/x/a.js') })
  rmSync(join(root, 'node_modules/x/package.json'))
  execFileSync('mkfifo', [join(root, 'node_modules/x/package.json')])
  await assert.rejects(compile('b.js'), { code: 'RENDER_COMPILE', data: { reason: 'timeout' } })
  const { error } = (await compile('b.js')).modules[0] ?? {}
  assert.match(error?.message ?? '', /x\/package\.json is not a regular file/)
})

/** A scan program in which no time passes: checks that hold for a moment hold for ever, so that what comes after them is certain. */
function slowClock(dir: string, main: URL): string {
  writeFileSync(join(dir, 'scan.mjs'), `performance.now = () => 0\nawait import(${JSON.stringify(main.href)})\n`)
  return join(dir, 'scan.mjs')
}
