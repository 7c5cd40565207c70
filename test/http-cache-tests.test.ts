// Starts first: it runs the public tests of HTTP caches.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { accepted } from './http-cache-tests/accepted.ts'
import { kindOf } from './http-cache-tests/judge.ts'
import { findSuite, runSuite, unexpected } from './http-cache-tests/run-suite.ts'

const suite = await findSuite()

test('the public suite for HTTP caches', { skip: suite === undefined && 'the suite cannot be fetched' }, async (t) => {
  assert.ok(suite !== undefined)
  const judged = await runSuite(t, suite)
  assert.deepEqual(
    unexpected(judged).map((one) => `${one.test.id}: ${one.message}`),
    [],
  )
  const passed = judged.filter(({ verdict }) => verdict === 'passed')
  assert.ok(passed.filter((one) => kindOf(one.test) === 'required').length >= 145)
  // A test that passes must leave the list of expected failures.
  const outdated = passed.filter((one) => Object.hasOwn(accepted, one.test.id))
  assert.deepEqual(
    outdated.map((one) => one.test.id),
    [],
  )
})
