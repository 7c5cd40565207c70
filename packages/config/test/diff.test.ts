import assert from 'node:assert/strict'
import { test } from 'node:test'
import { configDiff } from '../src/index.ts'
import { loaded, loadText } from './load-text.ts'

const site = (id: string, keys = '') => `[[sites]]\nid = "${id}"\nhostnames = ["${id}.org"]\nroot = "/tmp"\n${keys}\n`
const fixed = 'state_dir = "/tmp/s"\nrun_dir = "/tmp/r"\n'

test('equal configurations have no difference', async (t) => {
  const text = `[server]\n${fixed}[cache]\ndir = "/tmp/c"\n${site('a')}`
  const before = loaded((await loadText(t, text)).result)
  const after = loaded((await loadText(t, text)).result)
  assert.deepEqual(await configDiff(before, after), { sites: { added: [], removed: [], changed: [] }, needs_restart: [] })
})

test('sites are compared by id: added, removed, changed', async (t) => {
  const before = loaded((await loadText(t, `${site('gone')}${site('same')}${site('edited')}`)).result)
  const after = loaded((await loadText(t, `${site('new')}${site('edited', 'fetch_allow = ["db:1"]')}${site('same')}`)).result)
  assert.deepEqual((await configDiff(before, after)).sites, { added: ['new'], removed: ['gone'], changed: ['edited'] })
})

test('a site of vhost files has changed when one of its servers has, wherever that is written', async (t) => {
  const load = async (conf: string) =>
    loaded((await loadText(t, '[server]\nvhosts = ["*.conf"]\n', {}, { 'a.conf': conf })).result)
  const pair = 'ssl_certificate /b.crt; ssl_certificate_key /b.key;'
  const before = await load(
    `server { server_name a; location / { return 200; } }\nserver { server_name b; ${pair} }\nserver { server_name c; }`,
  )
  const after = await load(
    `# moved\nserver { server_name a;\nlocation / { return 204; } }\n\nserver { server_name b; ${pair} }\nserver { server_name d; }`,
  )
  assert.deepEqual((await configDiff(before, after)).sites, { added: ['d'], removed: ['c'], changed: ['a'] })
})

test('keys that cannot change in place are named, others are not', async (t) => {
  const before = loaded((await loadText(t, `[server]\n${fixed}[cache]\ndir = "/tmp/c"\n`)).result)
  const changed = [
    '[server]\nlisten = "127.0.0.1:9"\nengine = "node"\nworkers = 3\nstate_dir = "/tmp/s2"\nrun_dir = "/tmp/r2"',
    '[cache]\ndir = "/tmp/c2"\n[render]\nhosts = 2\ntimeout_ms = 1\n[redis]\nurl = "redis://x"',
    `[metrics]\npath = "/m"\n[health]\npath = "/h"\n[scaling]\nhealth_path = "/s"\n[admin]\nenabled = true\njwt_secret = "${'x'.repeat(32)}"`,
    '[endpoints]\nobs = false\nadmin = true\n',
  ].join('\n')
  const after = loaded((await loadText(t, changed)).result)
  assert.deepEqual((await configDiff(before, after)).needs_restart, [
    'server.engine',
    'server.workers',
    'server.state_dir',
    'server.run_dir',
    'cache.dir',
    'render.hosts',
    'redis.url',
    'admin.enabled',
    'metrics.path',
    'health.path',
    'scaling.health_path',
    'scaling.instance_id',
    'endpoints.obs',
    'endpoints.admin',
  ])
})
