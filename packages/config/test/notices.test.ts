import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inertKeys } from '../src/schema/inert-keys.ts'
import { nodeAt, schemaTree } from '../src/schema/schema-tree.ts'
import { loaded, loadText } from './load-text.ts'

test('one line names the keys that are set and have no effect, each once', async (t) => {
  const toml = [
    '[server]\nlisten = "127.0.0.1:1"\nengine = "node"\nidle_timeout_secs = 1\n[cache.proxy]\nmax_bytes = 1',
    '[plugins]\ndirectory = "plugins"',
    '[waf]\nmode = "monitor"',
    '[[waf.rules]]\nid = "a"\naction = "block"\nwhen = { path = "/a" }',
    '[[waf.rules]]\nid = "b"\naction = "block"\nwhen = { path = "/b" }',
    '[[sites]]\nid = "a"\nhostnames = ["a.org"]\nroot = "site"\nprocess = "own"',
    '[[sites]]\nid = "b"\nhostnames = ["b.org"]\nroot = "site"\nprocess = "in-process"',
    '[[sites.route_rules]]\npattern = "/"\naction = "block"\n',
  ].join('\n')
  assert.deepEqual(loaded((await loadText(t, toml)).result).notices, [
    'these keys have no effect yet in this version: plugins.directory',
  ])
})

test('keys that take effect are not named', async (t) => {
  const toml =
    '[server]\nlisten = "127.0.0.1:1"\nengine = "uws"\n[render]\nhosts = 2\n[endpoints]\nhealth = false\n[env]\nA = "1"\n'
  assert.deepEqual(loaded((await loadText(t, toml)).result).notices, [])
})

test('behind proxies the stricter engine is recommended', async (t) => {
  const [line, ...others] = loaded((await loadText(t, '[server]\ntrusted_proxies = ["10.0.0.1"]\n')).result).notices
  assert.match(line ?? '', /server\.trusted_proxies is set: engine "node" is recommended/)
  assert.deepEqual(others, [])
})

test('a panel without users is worth a line', async (t) => {
  const panel = `[admin]\nenabled = true\njwt_secret = "${'x'.repeat(32)}"\n`
  const noticed = async (toml: string) => loaded((await loadText(t, toml)).result).notices.filter((line) => /no user/.test(line))
  const user = '[[admin.users]]\nusername = "a"\npassword_hash = "$argon2id$v=19$m=8,t=1,p=1$c2FsdA$aGFzaA"\nrole = "viewer"\n'
  assert.deepEqual(await noticed(panel), [
    'admin.enabled is true but there is no user: "svc config credentials create" prints an [[admin.users]] entry',
  ])
  assert.deepEqual([...(await noticed('')), ...(await noticed(panel + user))], [])
})

test('an objective of a site that does not exist is worth a line', async (t) => {
  const slo = (site: string) => `[[obs.slos]]\nname = "up"\nsite = "${site}"\nkind = "availability"\nobjective = 0.99\n`
  const toml = '[[sites]]\nid = "a"\nhostnames = ["a.org"]\nroot = "site"\n'
  assert.deepEqual(loaded((await loadText(t, slo('a') + toml)).result).notices, [])
  assert.deepEqual(loaded((await loadText(t, slo('b') + toml)).result).notices, [
    'the objective "up" counts no requests: there is no site "b"',
  ])
})

test('every key of the table is a key of the schema', () => {
  const root = schemaTree()
  for (const entry of inertKeys) {
    const path = (entry.split('=')[0] ?? '').split('.').flatMap((part) => (part.endsWith('[]') ? [part.slice(0, -2), 0] : [part]))
    assert.ok(nodeAt(root, path), entry)
  }
})
