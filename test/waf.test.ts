import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Child, fetchHttp, type Server, startServer, svcCommand, tempDir, tempSite, waitFor } from '@svc/testkit'
import { adminToml, bearer } from '../packages/auth/test/admin-users.ts'

const API = '/__svc/admin/api/waf'

async function ask(server: Server, method: string, path: string, body?: unknown) {
  const headers = { ...(await bearer('root')), ...(body === undefined ? {} : { 'content-type': 'application/json' }) }
  const text = body === undefined ? {} : { body: JSON.stringify(body) }
  const answer = await fetchHttp(`${server.url}${API}${path}`, { method, headers, ...text })
  return { status: answer.status, json: JSON.parse(answer.text) }
}

/** The statuses of enough requests, each over a connection of its own, to meet both workers. */
async function statusesOf(server: Server, path: string): Promise<number[]> {
  const answers = await Promise.all(Array.from({ length: 12 }, () => fetchHttp(server.url + path)))
  return [...new Set(answers.map(({ status }) => status))]
}

test('the firewall of two workers', async (t) => {
  const root = tempSite(t, { 'public/a.txt': 'a', 'public/b.txt': 'b', 'public/c.txt': 'c' })
  const stateDir = tempDir(t, 'waf-state')
  const config = `[server]
listen = "127.0.0.1:0"
workers = 2

${adminToml}
[waf]
mode = "block"

[waf.packs]
traversal = "block"

[[waf.rules]]
id = "of-file"
action = "block"
when = { path = "^/b" }

[[sites]]
id = "one"
root = "${root}"
hostnames = ["localhost", "127.0.0.1"]
`
  const env = { SVC_SERVER__STATE_DIR: stateDir }
  let server = await startServer(t, { config, env })

  await t.test('a rule of the file and a pack block, others pass', async () => {
    assert.deepEqual(await statusesOf(server, '/b.txt'), [403])
    assert.deepEqual(await statusesOf(server, '/a.txt?file=..%252f..%252fetc%252fpasswd'), [403])
    assert.deepEqual(await statusesOf(server, '/a.txt'), [200])
    assert.deepEqual((await ask(server, 'GET', '')).json, {
      ok: true,
      mode: 'block',
      packs: { traversal: 'block', sqli: 'off', xss: 'off', scanner: 'off', protocol: 'off' },
      rules: 1,
    })
  })

  await t.test('a rule that is added holds in all workers when the request is answered', async () => {
    const rule = { id: 'added', action: 'block', when: { path: '^/c' } }
    assert.deepEqual(await statusesOf(server, '/c.txt'), [200])
    assert.equal((await ask(server, 'POST', '/rules', rule)).status, 201)
    assert.deepEqual(await statusesOf(server, '/c.txt'), [403])
    assert.equal((await ask(server, 'POST', '/rules', rule)).status, 409)
    assert.deepEqual((await ask(server, 'POST', '/test', { method: 'GET', path: '/c.txt' })).json, {
      ok: true,
      action: 'block',
      rule: 'added',
      matched: true,
    })
    const eventsOf = async () => (await ask(server, 'GET', '/events?rule=added&limit=1')).json
    await waitFor('an event', async () => (await eventsOf()).events.length > 0)
    const { events, cursor } = await eventsOf()
    assert.deepEqual([events[0].action, events[0].site, events[0].path, typeof cursor], ['block', 'one', '/c.txt', 'number'])
    const file = readFileSync(join(stateDir, 'overrides.json'), 'utf8')
    assert.match(file, /"waf\.rules\.added"/)
  })

  await t.test('a wrong rule is refused whole, and one that needs too much memory', async () => {
    const wrong = await ask(server, 'POST', '/rules', { id: 'bad', action: 'block', when: { path: '(' } })
    assert.equal(wrong.status, 422)
    assert.match(wrong.json.detail, /when\.path: the pattern cannot be used: missing closing/)
    const bomb = await ask(server, 'POST', '/rules', { id: 'bad', action: 'block', when: { body: '(a|b)*a(a|b){20}c' } })
    assert.match(bomb.json.detail, /too much memory/)
    assert.equal((await ask(server, 'PUT', '/rules/nothing', { action: 'block', when: { path: 'x' } })).status, 404)
    assert.equal((await ask(server, 'DELETE', '/rules/nothing')).status, 404)
  })

  await t.test('a removed rule of the file stays removed over kill -9 and restart, an added one stays', async () => {
    assert.equal((await ask(server, 'DELETE', '/rules/of-file')).status, 200)
    assert.deepEqual(await statusesOf(server, '/b.txt'), [200])
    await server.child.kill()
    server = await startServer(t, { config, env })
    assert.deepEqual(await statusesOf(server, '/b.txt'), [200])
    assert.deepEqual(await statusesOf(server, '/c.txt'), [403])
  })

  await t.test('a rule with a rate counts over both workers', async () => {
    const rate = { count: 5, window_secs: 3600 }
    assert.equal((await ask(server, 'POST', '/rules', { id: 'flood', action: 'block', when: { path: '^/a' }, rate })).status, 201)
    const answers = []
    for (let i = 0; i < 8; i++) answers.push((await fetchHttp(`${server.url}/a.txt`)).status)
    assert.deepEqual(answers, [200, 200, 200, 200, 200, 403, 403, 403])
    assert.equal((await ask(server, 'DELETE', '/rules/flood')).status, 200)
    assert.deepEqual(await statusesOf(server, '/a.txt'), [200])
  })

  await t.test('the mode at run time, and a reload that gives the rule of the file another value', async () => {
    assert.equal((await ask(server, 'PUT', '/mode', { mode: 'monitor' })).status, 200)
    assert.deepEqual(await statusesOf(server, '/c.txt'), [200])
    assert.equal((await ask(server, 'PUT', '/mode', { mode: 'block' })).status, 200)
    const { configFile } = server
    assert.ok(configFile)
    writeFileSync(configFile, readFileSync(configFile, 'utf8').replace('"^/b"', '"^/b[.]"'))
    const reloaded = await fetchHttp(`${server.url}/__svc/api/reload`, { method: 'POST', headers: await bearer('root') })
    assert.equal(reloaded.status, 200)
    assert.deepEqual(await statusesOf(server, '/b.txt'), [403])
    assert.deepEqual(await statusesOf(server, '/c.txt'), [403])
  })

  await t.test('svc config reset ends a rule and a mode that were set at run time', async () => {
    const reset = async (key: string) => {
      const command = new Child(t, svcCommand, ['config', 'reset', key, '--config', server.configFile ?? ''], { env })
      return (await command.exited).code
    }
    assert.equal((await ask(server, 'PUT', '/mode', { mode: 'off' })).status, 200)
    assert.equal(await reset('waf.rules.added'), 0)
    assert.deepEqual(await statusesOf(server, '/b.txt'), [200])
    assert.equal(await reset('waf.mode'), 0)
    assert.deepEqual([await statusesOf(server, '/b.txt'), await statusesOf(server, '/c.txt')], [[403], [200]])
    assert.notEqual(await reset('waf.rules.added'), 0)
  })
})
