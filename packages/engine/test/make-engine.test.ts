import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Child } from '@svc/testkit'

const program = fileURLToPath(new URL('./fixtures/engine-fallback.ts', import.meta.url))

test('without a binary of uWebSockets.js, engine node serves, and the log says why', async (t) => {
  const child = new Child(t, process.execPath, ['--disable-warning=ExperimentalWarning', program])
  const line = await child.waitForLine('the outcome', (text) => text.startsWith('{"engine"'))
  const { engine, text, problems } = JSON.parse(line)
  assert.deepEqual([engine, text], ['NodeEngine', 'hello'])
  assert.equal(problems.length, 1)
  assert.ok(String(problems[0]).includes(`no uWebSockets.js binary for ${process.platform}-${process.arch}`), problems[0])
})
