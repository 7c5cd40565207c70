import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import { Child, fetchHttp, type Server, startServer, svcCommand, tempDir, tempSite } from '@svc/testkit'
import { adminToml, bearer } from '../packages/auth/test/admin-users.ts'

const KEY = 'sites.one.maintenance'

type Env = Readonly<Record<string, string>>

function configOf(t: TestContext): string {
  const root = tempSite(t, { 'app/page.tsx': 'export const revalidate = 60\nexport default () => <p>open</p>' })
  const sites = ['one', 'two'].map((id) => `[[sites]]\nid = "${id}"\nhostnames = ["${id}.localhost"]\nroot = "${root}"\n`)
  return `[server]\nlisten = "127.0.0.1:0"\nworkers = 2\n${adminToml}\n${sites.join('\n')}`
}

/** The statuses of a page from many connections, so from every worker. */
async function statusesOf(server: Server, host: string): Promise<number[]> {
  const answers = await Promise.all(Array.from({ length: 12 }, () => fetchHttp(`${server.url}/`, { host })))
  return [...new Set(answers.map(({ status }) => status))]
}

async function put(server: Server, body: unknown) {
  return fetchHttp(`${server.url}/__svc/admin/api/sites/one/maintenance`, {
    method: 'PUT',
    headers: { ...(await bearer('root')), 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
}

async function svc(t: TestContext, server: Server, env: Env, ...args: string[]): Promise<string> {
  const command = new Child(t, svcCommand, [...args, '--config', server.configFile ?? ''], { env: { ...process.env, ...env } })
  assert.equal((await command.exited).code, 0, command.stderr)
  return command.stdout
}

test('maintenance takes one site out of service in all workers, from their memory too, and over a restart', async (t) => {
  const config = configOf(t)
  const env: Env = { SVC_SERVER__STATE_DIR: tempDir(t) }
  const server = await startServer(t, { config, env })
  assert.deepEqual([await statusesOf(server, 'one.localhost'), await statusesOf(server, 'two.localhost')], [[200], [200]])
  const answer = await put(server, { enabled: true, message: 'back at <noon>', retry_after_secs: 60 })
  assert.deepEqual([answer.status, JSON.parse(answer.text)], [200, { ok: true, site: 'one', maintenance: true }])
  assert.deepEqual([await statusesOf(server, 'one.localhost'), await statusesOf(server, 'two.localhost')], [[503], [200]])
  const shown = await fetchHttp(`${server.url}/`, { host: 'one.localhost', headers: { accept: 'text/html' } })
  assert.equal(shown.headers['retry-after'], '60')
  assert.match(shown.text, /back at &lt;noon&gt;/)
  assert.match(await svc(t, server, env, 'config', 'show'), new RegExp(`^# overridden: ${KEY} = .*\\(root, `, 'm'))

  const text = readFileSync(server.configFile ?? '', 'utf8')
  writeFileSync(server.configFile ?? '', `${text}\n# reloaded\n`)
  await svc(t, server, env, 'reload')
  assert.deepEqual(await statusesOf(server, 'one.localhost'), [503])

  await server.child.kill()
  await server.child.exited
  const again = await startServer(t, { config, env })
  assert.deepEqual([await statusesOf(again, 'one.localhost'), await statusesOf(again, 'two.localhost')], [[503], [200]])
  assert.match(await svc(t, again, env, 'config', 'reset', KEY), /reset/)
  assert.deepEqual(await statusesOf(again, 'one.localhost'), [200])
  assert.doesNotMatch(await svc(t, again, env, 'config', 'show'), /overridden/)
})

test('the configuration can take a site out of service, and an order puts it back', async (t) => {
  const table = '{ message = "back <b>at noon</b>", retry_after_secs = 600 }'
  const config = configOf(t).replace('id = "one"\n', `id = "one"\nmaintenance = ${table}\n`)
  const server = await startServer(t, { config })
  assert.deepEqual(await statusesOf(server, 'one.localhost'), [503])
  const { headers, text } = await fetchHttp(`${server.url}/`, { host: 'one.localhost', headers: { accept: 'text/html' } })
  assert.deepEqual([headers['retry-after'], text.includes('back &lt;b&gt;at noon')], ['600', true])
  assert.equal((await put(server, { enabled: false })).status, 200)
  assert.deepEqual(await statusesOf(server, 'one.localhost'), [200])
})
