import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { fetchHttp, PROCESS_WAIT_MS, type Server, startServer, tempSite, waitFor, writeFiles } from '@svc/testkit'
import { adminToml, bearer } from '../packages/auth/test/admin-users.ts'
import { EventReader } from './event-reader.ts'
import { fileCleanup } from './file-cleanup.ts'
import { openOwnSite } from './own-site-server.ts'
import { attachUnit } from './site-unit.ts'

const OBS = '/__svc/obs'

interface Line {
  readonly level: string
  readonly proc: string
  readonly site?: string
  readonly msg: string
  readonly cut_from_chars?: number
}

type Username = Parameters<typeof bearer>[0]

async function logsOf(server: Server, query = '', username: Username = 'root'): Promise<{ lines: Line[]; dropped: number }> {
  const { status, text } = await fetchHttp(`${server.url}${OBS}/logs${query}`, { headers: await bearer(username) })
  assert.equal(status, 200, text)
  return JSON.parse(text)
}

/** Resolves with the first line that fits, once it has arrived. */
async function lineIn(server: Server, query: string, fits: (line: Line) => boolean = () => true): Promise<Line> {
  let found: Line | undefined
  const look = async () => {
    found = (await logsOf(server, query)).lines.find(fits)
    return found !== undefined
  }
  await waitFor(`a line for ${query}`, look, PROCESS_WAIT_MS)
  assert.ok(found)
  return found
}

const site = (text: string) => ({
  'app/route.js': `export const dynamic = 'force-dynamic'
export function GET(request) {
  const [, kind] = request.url.split('?')
  if (kind === 'fail') throw new Error('broken ${text}')
  if (kind === 'huge') console.log('huge ' + 'x'.repeat(60000))
  else if (kind === 'flood') for (let i = 0; i < 20000; i++) console.log('flood ' + i + ' ' + 'x'.repeat(200))
  else console.log('hello of ${text}')
  return new Response('done')
}
`,
})

/** For all tests of shared sites; the last one ends it. */
const cleanup = fileCleanup()
let server: Server
before(async () => {
  const tables = ['shop', 'loud'].map((id) => {
    const tenant = id === 'shop' ? 'tenant = "acme"\n' : ''
    return `[[sites]]\nid = "${id}"\nhostnames = ["${id}.test"]\nroot = "${tempSite(cleanup, site(id))}"\n${tenant}`
  })
  const config = `[server]\nlisten = "127.0.0.1:0"\nworkers = 2\n${adminToml}${tables.join('')}`
  server = await startServer(cleanup, { config })
})

const ask = (server: Server, id: string, query = '') => fetchHttp(`${server.url}/${query}`, { host: `${id}.test` })

test('lines of every process can be read, those of a tenant by its admin alone', async () => {
  await ask(server, 'shop')
  await ask(server, 'loud')
  assert.equal((await ask(server, 'loud', '?fail')).status, 500)
  const hello = await lineIn(server, '?q=hello%20of%20shop')
  assert.deepEqual([hello.proc, hello.site, hello.level], ['render-host', 'shop', 'info'])
  assert.equal((await lineIn(server, '?level=error&site=loud', ({ proc }) => proc === 'worker')).site, 'loud')
  process.kill(server.child.pid, 'SIGUSR2')
  assert.equal((await lineIn(server, '?q=diagnostic')).proc, 'master')
  await lineIn(server, '?site=loud', ({ msg }) => msg === 'hello of loud')

  const own = (await logsOf(server, '', 'tom')).lines
  assert.ok(own.length > 0 && own.every((line) => line.site === 'shop'), JSON.stringify(own))
  const other = await fetchHttp(`${server.url}${OBS}/logs?site=loud`, { headers: await bearer('tom') })
  assert.equal(other.status, 404)
  assert.equal((await fetchHttp(`${server.url}${OBS}/logs`)).status, 401)

  const future = new Date(Date.now() + 3_600_000).toISOString()
  assert.deepEqual((await logsOf(server, `?since=${future}`)).lines, [])
  await fetchHttp(`${server.url}/__svc/cache/purge-l0`, { method: 'POST', headers: await bearer('root') })
  const body = JSON.stringify({ username: 'a password by mistake', password: 'x' })
  const headers = { 'content-type': 'application/json' }
  const login = await fetchHttp(`${server.url}/__svc/admin/api/login`, { method: 'POST', headers, body })
  assert.equal(login.status, 401)
  assert.doesNotMatch(
    JSON.stringify((await logsOf(server, '?limit=1000', 'vera')).lines),
    /audit|by mistake|login/,
    'viewers see neither the audit log nor who logs in',
  )
})

test('a site that floods its log with huge and many lines costs its own lines only', async () => {
  const hellos = async () => (await logsOf(server, '?site=shop&q=hello')).lines.length
  const before = await hellos()
  await ask(server, 'shop')
  await waitFor('the line of the shop', async () => (await hellos()) === before + 1, PROCESS_WAIT_MS)
  for (let i = 0; i < 5; i++) await ask(server, 'loud', '?flood')
  await ask(server, 'loud', '?huge')
  const { lines } = await logsOf(server, '?site=loud&limit=1000')
  assert.ok(lines.length > 0)
  for (const line of lines) assert.ok(JSON.stringify(line).length <= 8 * 1024, `${line.msg.slice(0, 50)}`)
  assert.equal(await hellos(), before + 1)
  await ask(server, 'shop', '?again')
  await waitFor('a new line', async () => (await hellos()) === before + 2, PROCESS_WAIT_MS)
})

test('lines of a site with a process of its own arrive under its id', async (t) => {
  const { root, server, get } = await openOwnSite(t, { more: adminToml })
  writeFiles(root, Object.fromEntries(Object.entries(site('one')).map(([name, text]) => [name.replace('app', 'app/talk'), text])))
  await attachUnit(t, server, 'one')
  await get('/talk')
  const line = await lineIn(server, '?site=one&q=hello')
  assert.deepEqual([line.proc, line.site], ['render-host', 'one'])
})

test('lines are sent live, until the token is revoked or the server drains', async (t) => {
  const follow = (username: Username) => EventReader.open(t, server, `${OBS}/logs/stream?q=hello`, username)
  const [all, own] = [await follow('root'), await follow('tom')]
  await ask(server, 'loud')
  await all.has('hello of loud')
  await ask(server, 'shop')
  await all.has('hello of shop')
  await own.has('hello of shop')
  assert.doesNotMatch(own.text, /loud/)
  const ended = await fetchHttp(`${server.url}/__svc/admin/api/logout`, { method: 'POST', headers: await bearer('tom') })
  assert.equal(ended.status, 200, ended.text)
  await waitFor('the end of the stream', () => own.isEnded, PROCESS_WAIT_MS)
  assert.equal(all.isEnded, false)
  server.child.signal('SIGTERM')
  await waitFor('the end of the other', () => all.isEnded, PROCESS_WAIT_MS)
  assert.match(all.text, /event: close\ndata:\n\n$/)
  assert.equal((await server.child.exited).code, 0)
})
