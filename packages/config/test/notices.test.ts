import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loaded, loadText } from './load-text.ts'

test('a configuration of what it is meant for has no notice', async (t) => {
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

test('a rule of the firewall for a site that does not exist is worth a line', async (t) => {
  const toml = '[[waf.rules]]\nid = "a"\nsite = "gone"\naction = "block"\nwhen = { path = "/a" }\n'
  assert.deepEqual(loaded((await loadText(t, toml)).result).notices, [
    'the rule "a" of the firewall has no effect: there is no site "gone"',
  ])
})
