// The test runner prints positions of the sources, though tests run as bundles.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { repositoryRoot, tempDir, writeFiles } from '@svc/testkit'
import { build } from 'esbuild'
import { sourcePositions, withSourcePositions } from '../scripts/source-positions.mjs'

test('errors, their causes and what a test prints name the lines of the sources', async (t) => {
  const dir = tempDir(t, 'positions')
  writeFiles(dir, {
    'one.ts': 'export {}\n\nexport type Text = string\n\nexport function fail(text: Text): never {\n  throw new Error(text)\n}\n',
    'all.ts': "import { fail } from './one.ts'\nexport const call = () => fail('broken')\n",
  })
  const outfile = join(dir, 'out/all.mjs')
  await build({
    entryPoints: [join(dir, 'all.ts')],
    outfile,
    bundle: true,
    format: 'esm',
    sourcemap: true,
    sourcesContent: false,
  })
  const { call } = await import(pathToFileURL(outfile).href)
  const caught = (): Error => {
    try {
      return call()
    } catch (error) {
      return error as Error
    }
  }
  const printed = caught().stack ?? ''
  assert.ok(printed.includes(outfile))
  assert.ok(withSourcePositions(printed).includes(`${dir}/one.ts:6:9`), withSourcePositions(printed))

  const cause = caught()
  // As an error that comes from another process.
  Object.defineProperty(cause, 'stack', { value: cause.stack, writable: false, configurable: true })
  const error = new Error('a test failed', { cause })
  const stream = sourcePositions()
  stream.write({ type: 'test:fail', data: { details: { error } } })
  stream.end({ type: 'test:stderr', data: { message: printed } })
  const [failed, text] = await stream.toArray()
  assert.ok(failed.data.details.error.cause.stack.includes(`${dir}/one.ts:6:9`))
  assert.equal(text.data.message, withSourcePositions(printed))
})

test('other positions stay as they are', () => {
  const text = '    at run (node:internal/test:1:2)\n    at file:///nowhere/file.mjs:3:4'
  assert.equal(withSourcePositions(text), text)
})

test('a failed test is printed with its error', (t) => {
  const dir = tempDir(t, 'positions')
  writeFiles(dir, {
    'fails.test.mjs': "import { test } from 'node:test'\ntest('one', () => {\n  throw new Error('broken')\n})\n",
  })
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  const args = [join(repositoryRoot, 'scripts/run-tests.mjs'), join(dir, 'fails.test.mjs')]
  const { status, stdout } = spawnSync(join(repositoryRoot, 'bin/node'), args, { encoding: 'utf8', env, timeout: 60_000 })
  assert.equal(status, 1)
  assert.match(stdout, /✖ one/)
  assert.match(stdout, /Error: broken\n.*fails\.test\.mjs:3:9/)
})
