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
  const text = endpointReference()
  const items = text.match(/^- `(?:GET|POST) .*$/gm) ?? []
  assert.ok(items.length >= 20)
  for (const item of items)
    assert.match(
      item,
      /^- `[A-Z]+ \/\S*` \((?:open|loopback|loopback, tenant_admin|viewer|tenant_admin|super_admin)\): [A-Z].*\.$/,
      item,
    )
  const fields = text.match(/^ {2}- `\w+` \(.*$/gm) ?? []
  assert.ok(fields.length >= 15)
  for (const field of fields) assert.match(field, /^ {2}- `\w+` \([^)]+\): .*\.$/, field)
})
