import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ContentCoding, encodingClass, negotiateEncoding } from '../src/index.ts'

const table: ReadonlyArray<readonly [field: string | undefined, coding: ContentCoding]> = [
  [undefined, 'identity'],
  ['', 'identity'],
  [',,', 'identity'],
  ['deflate, compress', 'identity'],
  ['br;q=0', 'identity'],
  ['*;q=0', 'identity'],
  ['identity;q=0', 'identity'],
  ['br;q=2', 'identity'],
  ['br;q=x', 'identity'],
  ['br;q=0.0001', 'identity'],
  ['gzip;q=-1', 'identity'],
  ['gzip, deflate, br, zstd', 'br'],
  ['gzip, deflate', 'gzip'],
  ['zstd, gzip', 'zstd'],
  ['gzip;q=1.0, br;q=0.9', 'gzip'],
  ['br;q=0.5, gzip;q=0.5', 'br'],
  ['GZIP', 'gzip'],
  ['x-gzip', 'gzip'],
  ['gzip ; q = 0.5', 'gzip'],
  ['*', 'br'],
  ['*;q=0.1, gzip;q=0.5', 'gzip'],
  ['br;q=0, *', 'zstd'],
  ['identity, gzip;q=0.5', 'identity'],
  ['identity;q=0.5, gzip;q=0.6', 'gzip'],
  ['identity;q=0, gzip;q=0.001', 'gzip'],
  ['gzip;q=0, gzip', 'identity'],
]
for (const [field, coding] of table) {
  test(`gives ${field === undefined ? 'no field' : JSON.stringify(field)} ${coding} (RFC 9110 section 12.5.3)`, () => {
    assert.equal(encodingClass(field), coding)
  })
}

test('chooses only among what is available', () => {
  assert.equal(negotiateEncoding('gzip, deflate, br, zstd', ['gzip', 'identity']), 'gzip')
  assert.equal(negotiateEncoding('br', ['gzip', 'identity']), 'identity')
  assert.equal(negotiateEncoding('*', ['identity']), 'identity')
})
