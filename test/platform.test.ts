import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fetchHttp, PROCESS_WAIT_MS, type Server, startServer, tempDir, waitFor, writeFiles } from '@svc/testkit'
import { startSvc } from '../packages/cli/test/run-svc.ts'
import { reloaded } from './control.ts'
import { attachUnit } from './site-unit.ts'

/** A page that may be stored, of everything that its code sees as the environment. */
const page = 'export default () => <pre>{JSON.stringify(Object.entries(process.env).sort())}</pre>\n'
const app = (name: string, hostname: string, source: string) =>
  `[[apps]]\nname = "${name}"\nhostname = "${hostname}"\nsource = "${source}"\n`
const edited = (file: string, from: string, to: string) => writeFileSync(file, readFileSync(file, 'utf8').replace(from, to))

async function environment(server: Server, host: string): Promise<Record<string, string>> {
  const { status, text } = await fetchHttp(server.url, { headers: { host } })
  assert.equal(status, 200, text)
  const json = text.slice(text.indexOf('<pre>') + 5, text.indexOf('</pre>')).replaceAll('&quot;', '"')
  return Object.fromEntries(JSON.parse(json))
}

/** A server with sites in its config file, one of them with a process of its own, and apps of a platform file elsewhere. */
async function openPlatform(t: TestContext) {
  const dir = tempDir(t)
  const dotenv = 'FILE=file\nFILE_OS=file\nTABLE=file\nSITE=file\n'
  const files = ['inner', 'own', 'p/docs', 'p/wild', 'p/later'].flatMap((name) => [
    [`${name}/app/page.tsx`, page] as const,
    [`${name}/.env`, dotenv] as const,
  ])
  const platform = join(dir, 'p/platform.toml')
  writeFiles(dir, {
    ...Object.fromEntries(files),
    'p/platform.toml': app('docs', 'docs.test', 'docs') + app('wild', '*.wild.test', 'wild'),
  })
  const site = (id: string, mode: string) =>
    `[[sites]]\nid = "${id}"\nhostnames = ["${id}.test"]\nroot = "${dir}/${id}"\nprocess = "${mode}"\nenv = { SITE = "site" }\n`
  const config = `[server]\nlisten = "127.0.0.1:0"\nworkers = 1\n[env]\nTABLE = "table"\nTABLE_OS = "table"\nSITE = "table"\n${site('inner', 'in-process')}${site('own', 'own')}`
  const env = { FILE_OS: 'os', TABLE_OS: 'os', OTHER_OF_HOST: 'os', NODE_ENV: 'test' }
  const server = await startServer(t, { config, args: ['--platform', platform], env })
  return { dir, server, platform, config: server.configFile ?? '' }
}

test('a platform file beside a config file serves its apps, and each reload reads both again', async (t) => {
  const { dir, server, platform, config } = await openPlatform(t)
  await attachUnit(t, server, 'own')
  const files = { FILE: 'file', FILE_OS: 'os', NODE_ENV: 'production', TABLE: 'table', TABLE_OS: 'os' }

  // The value of the operating system first, then [env], then .env; the env of a site comes before [env]. Nothing else of the host.
  for (const host of ['inner.test', 'own.test'])
    assert.deepEqual(await environment(server, host), { ...files, SITE: 'site' }, host)
  for (const host of ['docs.test', 'a.b.wild.test']) {
    assert.deepEqual(await environment(server, host), { ...files, SITE: 'table' }, host)
  }

  // Stored pages and isolates of the old environment are not used any more.
  edited(config, 'TABLE = "table"\n', 'TABLE = "changed"\nNEW = "new"\n')
  edited(join(dir, 'own/.env'), 'FILE=file\n', 'FILE=changed\n')
  await reloaded(server)
  const after = { ...files, TABLE: 'changed', NEW: 'new' }
  assert.deepEqual(await environment(server, 'inner.test'), { ...after, SITE: 'site' })
  assert.deepEqual(await environment(server, 'docs.test'), { ...after, SITE: 'table' })
  const own = { ...after, SITE: 'site', FILE: 'changed' }
  await waitFor('the unit has followed', async () => {
    return (
      JSON.stringify(await environment(server, 'own.test')) === JSON.stringify(Object.fromEntries(Object.entries(own).sort()))
    )
  })

  writeFileSync(platform, app('docs', 'docs.test', 'docs') + app('later', 'later.test', 'later'))
  server.child.signal('SIGHUP')
  await waitFor('the added app', async () => (await environment(server, 'later.test'))['NEW'] === 'new', PROCESS_WAIT_MS)
  const ids = async () => {
    const { stdout } = await startSvc(t, ['sites', '--json', '--config', config, '--platform', platform])
    return (JSON.parse(stdout) as { id: string; label: string }[]).map(({ id, label }) => `${id} ${label}`)
  }
  assert.deepEqual(await ids(), ['inner inner', 'own own', 'docs docs', 'later later'])

  // Mistakes are reported where they are, and change nothing.
  writeFileSync(platform, app('docs', 'inner.test', 'docs') + app('own', 'own2.test', 'gone'))
  const { code, stderr } = await startSvc(t, ['reload', '--config', config, '--platform', platform])
  assert.equal(code, 78)
  const lines = stderr
    .trimEnd()
    .split('\n')
    .map((line) => line.replaceAll(`${dir}/`, ''))
  assert.match(
    lines[0] ?? '',
    /^p\/platform\.toml:3:1: apps\[0\]\.hostname: host name "inner\.test" is already taken at .*svc\.config\.toml:/,
  )
  assert.match(lines[1] ?? '', /^p\/platform\.toml:6:1: apps\[1\]\.name: site id "own" is already taken/)
  assert.match(lines[2] ?? '', /^p\/platform\.toml:8:1: apps\[1\]\.source: no such directory: p\/gone/)
  assert.match(lines[3] ?? '', /^svc: reload failed: generation 3 is still served/)
  assert.equal((await ids()).length, 4)
})

test('a site that is served alone sees its .env, with values of the operating system, and nothing else', async (t) => {
  const dir = tempDir(t)
  writeFiles(dir, { 'app/page.tsx': page, '.env': 'FILE=file\nFILE_OS=file\nHOME=file\n' })
  const server = await startServer(t, { dir, env: { FILE_OS: 'os', OTHER_OF_HOST: 'os', HOME: '/home/of-server' } })
  const expected = { FILE: 'file', FILE_OS: 'os', HOME: '/home/of-server', NODE_ENV: 'development' }
  assert.deepEqual(await environment(server, 'any.test'), expected)
})
