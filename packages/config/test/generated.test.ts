import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import toml from 'toml'
import * as z from 'zod'
import { listSections } from '../src/generate/sections.ts'
import { exampleToml, referenceMarkdown, schemaJson } from '../src/index.ts'
import { configSchema } from '../src/schema/config-schema.ts'
import { nodeAt, type SchemaNode, schemaTree } from '../src/schema/schema-tree.ts'
import { repositoryFile } from './load-text.ts'

function everyNode(node: SchemaNode, name: string, visit: (name: string, node: SchemaNode) => void): void {
  visit(name, node)
  for (const [key, child] of Object.entries(node.properties ?? {})) everyNode(child, `${name}.${key}`, visit)
  if (node.items !== undefined) everyNode(node.items, `${name}[]`, visit)
}

test('the files of the repository are what the schema generates', () => {
  const hint = 'run bin/node scripts/generate-docs.mjs'
  assert.equal(readFileSync(repositoryFile('svc.config.toml.example'), 'utf8'), exampleToml(), hint)
  assert.equal(readFileSync(repositoryFile('docs/reference/config.md'), 'utf8'), referenceMarkdown(), hint)
})

test('every key is described', () => {
  everyNode(schemaTree(), 'config', (name, node) => {
    const isPlainItem = name.endsWith('[]') && node.properties === undefined
    if (!isPlainItem) assert.ok(node.description, name)
  })
})

test('the example with every setting switched on is a valid file that names every key', () => {
  const text = exampleToml()
  const data = toml.parse(text.replace(/^#(?=[^\s#])/gm, ''))
  assert.deepEqual(configSchema.safeParse(data).error?.issues, undefined)
  everyNode(schemaTree(), '', (name, node) => {
    const isHeaded = node.properties !== undefined || node.items?.properties !== undefined
    const key = name.split('.').at(-1) ?? ''
    if (!isHeaded && !name.includes('[]')) assert.match(text, new RegExp(`^#( \\()?${key} (=|has no default)`, 'm'), name)
  })
})

test('the unchanged example changes no setting', () => {
  assert.deepEqual(toml.parse(exampleToml()), Object.assign(Object.create(null), {}))
})

test('the reference has an item for every key of every section', () => {
  const text = referenceMarkdown()
  for (const section of ['server', 'cache.isr', 'waf.packs']) assert.ok(text.includes(`## \`[${section}]\``), section)
  for (const section of ['sites', 'admin.users', 'obs.slos']) assert.ok(text.includes(`## \`[[${section}]]\``), section)
  for (const { name, keys } of listSections()) {
    const [, part = ''] = text.split(new RegExp(`^## \`\\[{1,2}${name.replaceAll('.', '\\.')}\\]{1,2}\`$`, 'm'))
    const items = [
      ...part
        .split('\n## ', 1)
        .join('')
        .matchAll(/^- \*\*`([^`]+)`\*\* \(/gm),
    ].map(([, key]) => key)
    assert.deepEqual(
      items,
      keys.map((key) => key.name),
      name,
    )
  }
  assert.match(text, /^- \*\*`workers`\*\* \(integer; default: `0`\): Connection worker processes/m)
  assert.match(text, /^- \*\*`jwt_secret`\*\* \(secret; default: none\): /m)
  assert.match(text, /^- \*\*`id`\*\* \(string, required\): /m)
})

test('the JSON Schema is plain: standard keywords, secrets write-only, nothing unknown allowed', () => {
  const schema = schemaJson() as SchemaNode & { readonly $schema?: unknown }
  assert.equal(schema.$schema, 'https://json-schema.org/draft/2020-12/schema')
  assert.equal(schema.additionalProperties, false)
  everyNode(schema, 'config', (name, node) => {
    for (const mark of ['computed', 'secret', 'path', 'host']) assert.equal(mark in node, false, `${name} has ${mark}`)
  })
  const secret = nodeAt(schema, ['admin', 'jwt_secret'])
  assert.equal((secret as { writeOnly?: boolean }).writeOnly, true)
  assert.match(nodeAt(schema, ['cache', 'dir'])?.description ?? '', /Default: `\/var\/cache\/svc`/)
})

test('the tree that is built section by section is that of the whole schema', () => {
  assert.equal(JSON.stringify(schemaTree()), JSON.stringify(z.toJSONSchema(configSchema, { io: 'input' })))
})
