import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { ErrorSpec } from '@svc/core'
import { ExitCode } from '@svc/protocol'
import { repositoryRoot } from '@svc/testkit'

const page = readFileSync(join(repositoryRoot, 'docs/reference/errors.md'), 'utf8')
const sources = globSync('packages/*/src/**/*.ts', { cwd: repositoryRoot }).map((name) => ({
  name,
  text: readFileSync(join(repositoryRoot, name), 'utf8'),
}))

/** `code status retry` of every error class that has a table with statuses. */
async function codesOfErrorClasses(): Promise<string[]> {
  const found: string[] = []
  for (const name of globSync('packages/*/src/**/errors.ts', { cwd: repositoryRoot })) {
    const exported: Record<string, unknown> = await import(join(repositoryRoot, name))
    for (const value of Object.values(exported)) {
      if (typeof value !== 'function' || !('table' in value)) continue
      const table = value.table as Readonly<Record<string, ErrorSpec>>
      for (const [code, { status, retryable }] of Object.entries(table))
        if (status !== undefined) found.push(`${code.toLowerCase()} ${status}${retryable === true ? ' yes' : ''}`)
    }
  }
  return found
}

/** `code status retry` of every error that the product answers with. */
async function codesOfTheCode(): Promise<Set<string>> {
  const found = new Set(await codesOfErrorClasses())
  for (const { name, text } of sources) {
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

test('the reference lists every code of an error answer with its status, and none that does not exist', async () => {
  const rows = [...page.matchAll(/^\| `([a-z_]+)` +\| (\d+) +\| (yes)? *\|/gm)]
  const documented = rows.map(([, code, status, retry]) => `${code} ${status}${retry === undefined ? '' : ' yes'}`)
  assert.deepEqual(documented.toSorted(), [...(await codesOfTheCode())].toSorted())
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
