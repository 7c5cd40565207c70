import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { tempDir, writeFiles } from '@svc/testkit'
import { ConfigChecks } from '../src/config-check/config-checks.ts'

const configCheck = fileURLToPath(new URL('../src/config-check/main.ts', import.meta.url))

/** Checks beside a running configuration, which reads one vhost file. */
function checksIn(t: TestContext, program = configCheck): { readonly dir: string; readonly checks: ConfigChecks } {
  const dir = tempDir(t, 'config-check')
  writeFiles(dir, {
    'svc.config.toml': '[server]\nvhosts = ["known.conf"]\n',
    'known.conf': 'server { listen 127.0.0.1:8081; server_name known.test; return 204; }\n',
    'secret.txt': 'top-secret-words { }\n',
    'site/app/page.tsx': '',
  })
  const source = { file: join(dir, 'svc.config.toml'), env: {}, cwd: dir, isRoot: false }
  const checks = new ConfigChecks({ source, program })
  t.after(() => checks.close())
  return { dir, checks }
}

test('a text is checked as if it lay at the place of the config file, which it leaves alone', async (t) => {
  const { checks } = checksIn(t)
  const verdict = await checks.check(
    '[server]\nvhosts = ["known.conf"]\n[[sites]]\nid = "a"\nhostnames = ["a.test"]\nroot = "site"\n',
  )
  assert.deepEqual(verdict, { sites: 2, notices: verdict.notices, problems: [] })
})

test('every problem is named with its key and place', async (t) => {
  const { checks } = checksIn(t)
  const { problems } = await checks.check(
    '[server]\nworkers = "many"\nworkerz = 1\n[[sites]]\nid = "a"\nhostnames = ["a.test"]\nroot = "gone"\n',
  )
  assert.deepEqual(
    problems.map(({ path }) => path),
    ['server.workers', 'server.workerz', 'sites[0].root'],
  )
  assert.match(problems[0]?.message ?? '', /^line 2, column \d+: /)
  const broken = await checks.check('[server\n')
  assert.deepEqual([broken.problems.length, broken.problems[0]?.path], [1, ''])
})

test('a message quotes other files only if the running configuration reads them', async (t) => {
  const { dir, checks } = checksIn(t)
  writeFiles(dir, { 'known.conf': 'server { listen 127.0.0.1:8081; quoted-words on; }\n' })
  const unknown = await checks.check('[server]\nvhosts = ["secret.txt"]\n')
  assert.deepEqual(unknown.problems, [
    { path: `${join(dir, 'secret.txt')}:1:1`, message: 'is invalid; "svc config check" says why' },
  ])
  writeFiles(dir, { 'known.conf': 'server { listen 127.0.0.1:8081; server_name known.test; return 204; }\n' })
  const known = await checks.check('[server]\nvhosts = ["known.conf"]\nlisten = "no address"\n')
  assert.ok(known.problems.every(({ message }) => !message.includes('says why')))
})

test('a check whose process ends without a verdict is unavailable, and the next one runs', async (t) => {
  const { checks } = checksIn(t, '/dev/null')
  await assert.rejects(checks.check(''), { code: 'SUP_CONFIG_CHECK', status: 503, message: /the process ended \(0\)/ })
  await assert.rejects(checks.check(''), { code: 'SUP_CONFIG_CHECK' })
})

test('more checks than can wait are refused at once, and a stop ends the others', async (t) => {
  const { checks } = checksIn(t)
  const messages: string[] = []
  const all = Array.from({ length: 12 }, () => checks.check('').catch((error: Error) => messages.push(error.message)))
  await Promise.all(all.slice(9))
  assert.deepEqual(messages, Array(3).fill('too many checks of configurations are queued: try again later'))
  checks.close()
  await Promise.all(all)
  assert.deepEqual(messages.slice(4), Array(8).fill('the server is stopping'))
})
