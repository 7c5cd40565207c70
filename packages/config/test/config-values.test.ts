import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { changedValues, configValues, needsRestart } from '../src/index.ts'
import { loadDir, loaded, loadText } from './load-text.ts'

const secret = 'jwt-secret-jwt-secret-jwt-secret-x'
const base = `
[server]
workers = 2
[admin]
enabled = true
jwt_secret = "${secret}"
[env]
TOKEN = "hidden"
[[sites]]
id = "shop"
hostnames = ["shop.test"]
root = "site"
[[sites]]
id = "blog"
hostnames = ["blog.test"]
root = "site"
`

test('values have the keys that people write, and their source: file and line, variable, option, or default', async (t) => {
  const { dir, result } = await loadText(t, base, { env: { SVC_CACHE__ISR__MAX_ENTRIES: '77' }, listen: '127.0.0.1:0' })
  const { config, originOf } = loaded(result)
  const values = configValues(config)
  const at = (key: string) => {
    const found = values.find((one) => one.key === key) ?? assert.fail(key)
    const { kind, place } = originOf(found.path)
    return [found.value, kind, place.replace(`${dir}/`, '')]
  }
  assert.deepEqual(at('server.workers'), [2, 'file', 'svc.config.toml:3'])
  assert.deepEqual(at('sites.blog.hostnames'), [['blog.test'], 'file', 'svc.config.toml:15'])
  assert.deepEqual(at('cache.isr.max_entries'), [77, 'environment', 'environment variable SVC_CACHE__ISR__MAX_ENTRIES'])
  assert.deepEqual(at('server.listen').slice(1), ['option', 'option --listen'])
  assert.deepEqual(at('cache.l0.enabled').slice(1), ['default', ''])
  assert.deepEqual(at('admin.jwt_secret'), ['***', 'file', 'svc.config.toml:6'])
  assert.deepEqual(at('env.TOKEN'), ['***', 'file', 'svc.config.toml:8'])
  assert.equal(JSON.stringify(values).includes('hidden') || JSON.stringify(values).includes(secret), false)
})

test('a comparison names items of lists, so that a new first site changes no other, and shows no secret', async (t) => {
  const { dir, result } = await loadText(t, base)
  const before = loaded(result).config
  assert.deepEqual(changedValues(before, before), [])
  const first = '[[sites]]\nid = "docs"\nhostnames = ["docs.test"]\nroot = "site"\n[[sites]]\nid = "shop"'
  const edited = base.replace('[[sites]]\nid = "shop"', first).replace(secret, secret.toUpperCase()).replace('= 2', '= 3')
  writeFileSync(join(dir, 'svc.config.toml'), edited)
  const changed = changedValues(before, loaded(await loadDir(dir)).config)
  const facts = changed.filter(({ key }) => !key.startsWith('sites.docs.'))
  assert.deepEqual(
    facts.map(({ key, before: old, after }) => [key, old, after]),
    [
      ['server.workers', 2, 3],
      ['admin.jwt_secret', '***', '***'],
    ],
  )
  assert.deepEqual(
    facts.map(({ path }) => needsRestart(path)),
    [true, false],
  )
  assert.ok(changed.some(({ key, before: old, after }) => key === 'sites.docs.id' && old === undefined && after === 'docs'))
})
