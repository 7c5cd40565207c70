import assert from 'node:assert/strict'
import { test } from 'node:test'
import { schemaJson } from '@svc/config'
import { tempDir, writeFiles } from '@svc/testkit'
import { runSvc } from './run-svc.ts'

const good = `[server]
workers = 3
[redis]
url = "redis://:hidden@10.0.0.1"

[[obs.slos]]
name = "up"
site = "gone"
kind = "availability"
objective = 0.99
[[sites]]
id = "a"
hostnames = ["a.org"]
root = "site"
[sites.env]
TOKEN = "hidden"
`

test('config check prints every problem with its place to standard error and exits 78', async (t) => {
  const dir = tempDir(t)
  writeFiles(dir, { 'svc.config.toml': '[server]\nwokers = 1\nengine = "x"\n' })
  const { code, stdout, stderr } = await runSvc(['config', 'check'], { cwd: dir })
  assert.equal(code, 78)
  assert.equal(stdout, '')
  assert.deepEqual(stderr.split('\n'), [
    `${dir}/svc.config.toml:2:1: server.wokers: unknown key (did you mean "workers"?)`,
    `${dir}/svc.config.toml:3:1: server.engine: expected "uws" or "node", got "x"`,
    'svc: 2 problems in the configuration',
    '',
  ])
})

test('config check finds what is wrong in vhost files, and says what has no effect there', async (t) => {
  const dir = tempDir(t)
  writeFiles(dir, {
    'svc.config.toml': '[server]\nvhosts = ["vhosts/*.conf"]\n',
    'vhosts/a.conf': 'server {\n  listen 80;\n  sendfile on;\n  server_nam a.org;\n  location / { expires x; }\n}\n',
  })
  const wrong = await runSvc(['config', 'check'], { cwd: dir })
  assert.deepEqual([wrong.code, wrong.stdout], [78, ''])
  assert.deepEqual(wrong.stderr.split('\n'), [
    `${dir}/vhosts/a.conf:4:3: unknown directive "server_nam" (did you mean "server_name"?)`,
    `${dir}/vhosts/a.conf:5:24: invalid value "x" in "expires" directive`,
    'svc: 2 problems in the configuration',
    '',
  ])
  writeFiles(dir, { 'vhosts/a.conf': 'server {\n  listen 80;\n  sendfile on;\n  server_name a.org;\n}\n' })
  const right = await runSvc(['config', 'check'], { cwd: dir })
  assert.deepEqual([right.code, right.stdout], [0, `${dir}/svc.config.toml: ok, 1 site\n`])
  const notice =
    'notice: one directive of nginx has no effect in vhost files: sendfile ("svc config check --verbose" gives places and reasons)\n'
  assert.equal(right.stderr, notice)
  const verbose = await runSvc(['config', 'check', '--verbose'], { cwd: dir })
  assert.equal(
    verbose.stderr,
    `${notice}${dir}/vhosts/a.conf:3:3: "sendfile" has no effect here: the server decides how to send files\n`,
  )
})

test('vhosts directives prints what becomes of each directive of nginx', async (t) => {
  const json = await runSvc(['vhosts', 'directives', '--json'], { cwd: tempDir(t) })
  assert.equal(json.code, 0)
  const table: { name: string; class: string }[] = JSON.parse(json.stdout)
  const classOf = (wanted: string) => table.find(({ name }) => name === wanted)?.class
  assert.deepEqual(['try_files', 'sendfile', 'perl', 'rot'].map(classOf), ['works', 'no effect', 'refused', undefined])
  const { code, stdout } = await runSvc(['vhosts', 'directives'], { cwd: tempDir(t) })
  assert.equal(code, 0)
  assert.match(
    stdout,
    /^sendfile +no effect +http,server,location,if in location +1 +off +the server decides how to send files$/m,
  )
})

test('config show refuses a wrong file like config check', async (t) => {
  const { code, stdout, stderr } = await runSvc(['config', 'show', '--json'], { cwd: tempDir(t) })
  assert.deepEqual([code, stdout], [78, ''])
  assert.match(stderr, /no configuration file found/)
})

test('config check says ok on standard output and gives notices on standard error', async (t) => {
  const dir = tempDir(t)
  writeFiles(dir, { 'conf/here.toml': good, 'conf/site/app/page.tsx': '' })
  const { code, stdout, stderr } = await runSvc(['config', 'check'], { cwd: dir, env: { SVC_CONFIG: 'conf/here.toml' } })
  assert.equal(code, 0)
  assert.equal(stdout, `${dir}/conf/here.toml: ok, 1 site\n`)
  assert.equal(stderr, 'notice: the objective "up" counts no requests: there is no site "gone"\n')
})

test('config show gives the effective configuration without secrets, as TOML and as JSON', async (t) => {
  const dir = tempDir(t)
  writeFiles(dir, { 'svc.config.toml': good, 'site/app/page.tsx': '', 'again.toml': '' })
  const env = { SVC_RENDER__HOSTS: '2' }
  const [text, json] = await Promise.all([
    runSvc(['config', 'show'], { cwd: dir, env }),
    runSvc(['config', 'show', '--json'], { cwd: dir, env }),
  ])
  assert.deepEqual([text.code, json.code, text.stderr, json.stderr], [0, 0, '', ''])
  const shown = JSON.parse(json.stdout)
  assert.deepEqual([shown.server.workers, shown.render.hosts, shown.redis.url], [3, 2, '***'])
  assert.match(text.stdout, /^\[server\]\nlisten = "127\.0\.0\.1:8080"\nworkers = 3$/m)
  assert.match(text.stdout, /^\[\[sites\]\]\nid = "a"$/m)
  assert.doesNotMatch(text.stdout + json.stdout, /hidden/)
  // The output is itself a valid file, apart from the secrets.
  writeFiles(dir, { 'again.toml': text.stdout.replace('url = "***"', '') })
  const again = await runSvc(['config', 'check', '--config', 'again.toml'], { cwd: dir })
  assert.deepEqual([again.code, again.stdout], [0, `${dir}/again.toml: ok, 1 site\n`])
})

test('config schema prints the JSON Schema', async () => {
  const { code, stdout } = await runSvc(['config', 'schema'])
  assert.equal(code, 0)
  assert.deepEqual(JSON.parse(stdout), schemaJson())
})
