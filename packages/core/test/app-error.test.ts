import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AppError, codeOf, errorClass } from '@svc/core'

const StoreError = errorClass('StoreError', {
  STORE_TAKEN: { template: 'another server uses {directory} ({key})', exitCode: 69, advice: 'Choose another directory.' },
  STORE_BUSY: { status: 503, retryable: true },
})

test('a code with a template makes its message from the facts', () => {
  const error = new StoreError('STORE_TAKEN', { directory: '/a/{key}', key: 'cache.dir' })
  assert.equal(error.message, 'another server uses /a/{key} (cache.dir)')
  assert.deepEqual([error.exitCode, error.advice, error.status], [69, 'Choose another directory.', undefined])
})

test('a code without a template takes the message, and keeps the cause and the data', () => {
  const cause = new Error('EBUSY')
  const error = new StoreError('STORE_BUSY', 'the store is busy', { cause, data: { waiters: 3 } })
  assert.equal(String(error), 'StoreError: the store is busy')
  assert.deepEqual([error.status, error.retryable, error.exposable], [503, true, false])
  assert.equal(error.cause, cause)
  assert.deepEqual(error.data, { waiters: 3 })
})

test('errors are recognised by instanceof in their process, and by code across processes', () => {
  const error: unknown = new StoreError('STORE_BUSY', 'the store is busy')
  assert.ok(error instanceof StoreError && error instanceof AppError)
  assert.equal(codeOf(error), 'STORE_BUSY')
  assert.equal(new AppError('STORE_BUSY', 'x') instanceof StoreError, false)
})
