import assert from 'node:assert/strict'
import { test } from 'node:test'
import { installation, shellWord } from '../src/installation.ts'

test('the installation is found from a bundle, from code that bundles share, and from the source', () => {
  assert.equal(installation('/opt/svc/dist/cli.js'), '/opt/svc')
  assert.equal(installation('/opt/svc/dist/chunks/new-ABC.js'), '/opt/svc')
  assert.equal(installation('/opt/svc/packages/cli/src/installation.ts'), '/opt/svc')
})

test('a shell takes a text as one word', () => {
  assert.equal(shellWord('../my-site_2.0'), '../my-site_2.0')
  assert.equal(shellWord("My Site's"), "'My Site'\\''s'")
  assert.equal(shellWord(''), "''")
})
