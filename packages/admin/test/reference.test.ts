import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { repositoryRoot } from '@svc/testkit'
import { endpointReference } from '../src/index.ts'

test('the reference of endpoints is made from their table', () => {
  const page = readFileSync(join(repositoryRoot, 'docs/reference/endpoints.md'), 'utf8')
  assert.equal(page, endpointReference(), 'run bin/node scripts/generate-docs.mjs')
})

test('every endpoint says what it does and what its fields mean', () => {
  const rows = endpointReference().match(/^\| `(?:GET|POST) .*$/gm) ?? []
  assert.ok(rows.length >= 20)
  for (const row of rows) assert.match(row, /\| [A-Z][^|]*\. \|/, row)
})
