import assert from 'node:assert/strict'
import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { configDir, loadDir, loaded, loadText } from './load-text.ts'

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

test('a file of the configuration that every user may change is worth a line', async (t) => {
  const files = {
    'svc.config.toml': '[server]\nvhosts = ["a.conf"]\n',
    'a.conf': 'server { listen 127.0.0.1:1; return 204; }',
    '.env': 'A=1\n',
  }
  const dir = configDir(t, files)
  const noticed = async () => loaded(await loadDir(dir)).notices.map((line) => line.replace(dir, ''))
  assert.deepEqual(await noticed(), [])
  for (const name of Object.keys(files)) chmodSync(join(dir, name), 0o666)
  assert.deepEqual(
    await noticed(),
    Object.keys(files)
      .toSorted((a, b) => Number(a === 'a.conf') - Number(b === 'a.conf'))
      .map((name) => `/${name} has mode 0666: every user of the machine may change the configuration (chmod o-w)`),
  )
})

test('the files that hold secrets are known, and an address without a password is none', async (t) => {
  const secretFiles = async (toml: string) => {
    const { dir, result } = await loadText(t, toml, {}, { token: 'x'.repeat(32) })
    return loaded(result).secretFiles.map((file) => file.replace(dir, ''))
  }
  assert.deepEqual(await secretFiles('[redis]\nurl = "redis://127.0.0.1:1"\n'), [])
  assert.deepEqual(await secretFiles('[redis]\nurl = "redis://:word@127.0.0.1:1"\n'), ['/svc.config.toml'])
  assert.deepEqual(await secretFiles(`[admin]\njwt_secret = "${'x'.repeat(32)}"\n`), ['/svc.config.toml'])
  assert.deepEqual(await secretFiles('[admin]\njwt_secret = "file:token"\n'), ['/token'])
})
