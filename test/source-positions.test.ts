// The test runner prints positions of the sources, though tests run as bundles.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { tempDir, writeFiles } from '@svc/testkit'
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

  const error = new Error('a test failed', { cause: caught() })
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
