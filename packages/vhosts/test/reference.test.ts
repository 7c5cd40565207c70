import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { repositoryRoot } from '@svc/testkit'
import { rulesByName, workingNames } from '../src/directives/all-rules.ts'
import { directiveTable, rejectedDirectivesPage } from '../src/index.ts'
import { WEB_VARIABLE_PREFIXES, WEB_VARIABLES } from '../src/variables/variable-table.ts'

const page = readFileSync(join(repositoryRoot, 'docs/vhosts/reference.md'), 'utf8')

interface Entry {
  readonly name: string
  readonly syntaxes: readonly string[]
  readonly contexts: readonly string[]
}

function fieldOf(text: string, field: string, name: string): string {
  const found = new RegExp(`^- ${field}: (.+(?:\\n  .+)*)$`, 'm').exec(text)?.[1]
  assert.ok(found, `${name} has no "${field}" line`)
  return found.replaceAll(/\s+/g, ' ')
}

function entries(): Entry[] {
  const [, ...sections] = page.split(/^### /m)
  return sections.flatMap((section) => {
    const title = /^\S+/.exec(section)?.[0] ?? ''
    fieldOf(section, 'Default', title)
    const also = /^- Also:/m.test(section) ? fieldOf(section, 'Also', title) : ''
    const names = [title, ...[...also.matchAll(/`(\w+)`/g)].map(([, name = '']) => name)]
    return names.map((name) => ({
      name,
      syntaxes: [...fieldOf(section, 'Syntax', title).matchAll(/`([^`]+)`/g)].map(([, text = '']) => text),
      contexts: fieldOf(section, 'Context', title).split(', '),
    }))
  })
}

/** Fewest and most arguments that a syntax such as `x a [b] ...;` has. Words around "|" are one argument. */
function argumentsOf(syntax: string): { min: number; max: number; isBlock: boolean } {
  const isBlock = syntax.endsWith('{ ... }')
  const text = syntax
    .replace(/ ?(?:\{ \.\.\. \}|;)$/, '')
    .replace(/^\S+ ?/, '')
    .replaceAll(/ \| /g, '|')
  let [min, max] = [0, 0]
  for (const [word] of text.matchAll(/\[[^\]]*\]|\S+/g)) {
    if (word === '...' || /^\[.*\.\.\.\]$/.test(word)) max = Number.POSITIVE_INFINITY
    else {
      max += 1
      if (!word.startsWith('[')) min += 1
    }
  }
  return { min, max, isBlock }
}

/** nginx limits the parameters of access_log to some number that no file reaches. */
const MANY = 5

test('the reference has an entry for each directive that works, and no other', () => {
  const documented = entries().map(({ name }) => name)
  assert.deepEqual([...new Set(documented)].toSorted(), workingNames.toSorted())
  for (const name of workingNames) {
    const count = directiveTable().filter((entry) => entry.name === name && entry.class === 'works').length || 1
    assert.equal(documented.filter((other) => other === name).length, count, `entries of ${name}`)
  }
})

test('contexts and arguments of each entry are those of the parser', () => {
  for (const { name, syntaxes, contexts } of entries()) {
    const rules = rulesByName.get(name)
    // Files are put together before directives are read.
    if (rules === undefined) continue
    const rule = rules.find((one) => one.contexts.includes(contexts[0] as (typeof one.contexts)[number]))
    assert.ok(rule, `${name} in ${contexts[0]}`)
    assert.deepEqual(contexts.toSorted(), rule.contexts.toSorted(), `contexts of ${name}`)
    const forms = syntaxes.map(argumentsOf)
    for (const { isBlock } of forms) assert.equal(isBlock, rule.form === 'block', `form of ${name}`)
    assert.equal(Math.min(...forms.map(({ min }) => min)), rule.args[0], `fewest arguments of ${name}`)
    const max = Math.max(...forms.map((form) => form.max))
    if (rule.args[1] > MANY) assert.equal(max, Number.POSITIVE_INFINITY, `most arguments of ${name}`)
    else assert.equal(max, rule.args[1], `most arguments of ${name}`)
  }
})

test('the reference lists the variables that every request has, and no other', () => {
  const [, section = ''] = page.split('## Variables')
  const names = [...(section.split('Also the variables')[0] ?? '').matchAll(/`\$(\w+)`/g)].map(([, name = '']) => name)
  assert.deepEqual(names.toSorted(), [...WEB_VARIABLES, ...WEB_VARIABLE_PREFIXES.map((prefix) => `${prefix}name`)].toSorted())
})

test('the page of rejected directives is generated from their tables', () => {
  const text = readFileSync(join(repositoryRoot, 'docs/vhosts/not-available.md'), 'utf8')
  assert.equal(text, rejectedDirectivesPage(), 'run bin/node scripts/generate-docs.mjs')
})
