import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { ExitCode } from '@svc/protocol'
import { repositoryRoot } from '@svc/testkit'

const page = readFileSync(join(repositoryRoot, 'docs/reference/errors.md'), 'utf8')
const sources = globSync('packages/*/src/**/*.ts', { cwd: repositoryRoot }).map((name) => ({
  name,
  text: readFileSync(join(repositoryRoot, name), 'utf8'),
}))

/** What the code answers: `code status retry`. */
function codesOfTheCode(): Set<string> {
  const found = new Set<string>()
  for (const { name, text } of sources) {
    if (name.endsWith('/errors.ts')) {
      for (const [, code = '', facts = ''] of text.matchAll(/^ {2}([A-Z]+_[A-Z_]+): \{(.*)\},$/gm)) {
        const status = /status: (\d+)/.exec(facts)?.[1]
        if (status !== undefined) found.add(`${code.toLowerCase()} ${status}${facts.includes('retryable: true') ? ' yes' : ''}`)
      }
    }
    for (const [, status, code] of text.matchAll(/status: (\d+),(?: title: '[^']*',)? code: '([a-z_]+)'/g))
      found.add(`${code} ${status}`)
    for (const [, status, code] of text.matchAll(/\b(?:refuse|bodyRefused)\((\d+), '([a-z_]+)'/g)) found.add(`${code} ${status}`)
    for (const [, status, code] of text.matchAll(/status \?\? (\d+), fault\?\.code \?\? '([a-z_]+)'/g))
      found.add(`${code} ${status}`)
    if (name === 'packages/http/src/address/target.ts') {
      for (const [, code] of text.matchAll(/return '(target_[a-z_]+)'/g)) found.add(`${code} 400`)
    }
    for (const [, status, code] of text.matchAll(/status: (\d+), code: '(internal_error)'/g)) found.add(`${code} ${status}`)
  }
  return found
}

test('the reference lists every code of an error answer with its status, and none that does not exist', () => {
  const rows = [...page.matchAll(/^\| `([a-z_]+)` +\| (\d+) +\| (yes)? *\|/gm)]
  const documented = rows.map(([, code, status, retry]) => `${code} ${status}${retry === undefined ? '' : ' yes'}`)
  assert.deepEqual(documented.toSorted(), [...codesOfTheCode()].toSorted())
})

test('the reference lists every exit code', () => {
  const rows = [...page.matchAll(/^\| (\d+) +\| ([a-z]+) +\|/gm)].map(([, code, name]) => `${name} ${code}`)
  assert.deepEqual(
    rows.toSorted(),
    Object.entries(ExitCode)
      .map(([name, code]) => `${name} ${code}`)
      .toSorted(),
  )
})
