import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { join } from 'node:path'
import { before, type TestContext, test } from 'node:test'
import {
  type Cleanup,
  fetchHttp,
  PROCESS_WAIT_MS,
  type Server,
  startServer,
  tempDir,
  tempSite,
  waitFor,
  writeFiles,
} from '@svc/testkit'
import { adminToml, tokenOf } from '../packages/auth/test/admin-users.ts'
import { fileCleanup } from './file-cleanup.ts'

/** A site that sends the requests that a test wants, and shows what it is told. */
const site = {
  'app/send/route.ts': `export const dynamic = 'force-dynamic'
export async function POST(request: Request) {
  const { url, ...init } = await request.json()
  try {
    const answer = await fetch(url, init)
    return Response.json({ status: answer.status, text: (await answer.text()).slice(0, 200) })
  } catch (error) {
    return Response.json({ status: 0, text: String(error) })
  }
}`,
  'app/echo/route.ts': `import { cookies, headers } from 'svc/headers'
export const dynamic = 'force-dynamic'
export async function GET(request: Request) {
  return Response.json([[...request.headers], [...(await headers())], (await cookies()).getAll()])
}`,
  'app/set/route.ts': `import { cookies } from 'svc/headers'
export const dynamic = 'force-dynamic'
export async function GET() {
  const jar = await cookies()
  jar.set('SVC_ADMIN', 'of-a-site', { path: '/__svc/' })
  jar.set('other', '1')
  const answer = new Response('')
  for (const value of ['SVC_ADMIN=of-a-site', ' svc_admin=of-a-site', '=SVC_ADMIN=of-a-site', 'SVC_ADMIN', 'SVC_ADMIN ;Path=/'])
    answer.headers.append('set-cookie', value)
  return answer
}`,
  'middleware.ts': `import { NextResponse } from 'next/server'
export const config = { matcher: ['/moved/:path*', '/set'] }
export default function middleware(request: Request) {
  const { pathname, searchParams } = new URL(request.url)
  if (pathname === '/set') {
    const next = NextResponse.next()
    next.headers.append('set-cookie', 'SVC_ADMIN=of-a-middleware')
    return next
  }
  return NextResponse.rewrite(new URL(searchParams.get('to') ?? '', request.url))
}`,
}

/** Answers with its request, or as a test wants. */
async function startUpstream(t: Cleanup, answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<string> {
  const server = createServer(answer).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return `127.0.0.1:${(server.address() as AddressInfo).port}`
}

const maps = `map $http_cookie $found { "~*svc_admin *= *(?<value>.*)" "found $value"; default nothing; }
map $host $joined { default "SVC_ADMIN=of-a-vhost"; }`

const shown = '$http_cookie|$cookie_SVC_ADMIN|$cookie_svc_admin'
const noFields = ['CDN-Loop', 'X-Forwarded-For', 'X-Real-IP', 'Via'].map((name) => `proxy_set_header ${name} "";`).join(' ')

/** Vhosts of the site's tenant: one leads to the instance, one reads cookies, one sets them. */
const vhostsOf = (upstreams: { readonly echo: string; readonly setter: string }) => ({
  'two.localhost': `
     location = /in { proxy_pass http://127.0.0.1:$server_port/__svc/cache/stats; proxy_set_header Host localhost; ${noFields} }
     location = /loop { proxy_pass http://127.0.0.1:$server_port/__svc/debug/router; proxy_set_header CDN-Loop "another"; }
     location = /moved { rewrite ^ /__svc/cache/stats; }
     location = /tried { try_files /nothing /__svc/cache/stats; }
     location = /page { error_page 404 = /__svc/cache/stats; return 404; }`,
  'reader.localhost': `
     location = /shown { add_header X-Shown "${shown}"; return 200 "${shown}"; }
     location = /seen { return 200 "$found"; }
     location = /up { proxy_pass http://${upstreams.echo}; proxy_set_header X-Stolen "${shown}"; }
     location = /up-query { proxy_pass http://${upstreams.echo}/?stolen=$cookie_SVC_ADMIN; proxy_set_header Cookie $http_cookie; }`,
  'setter.localhost': `
     location = /added { add_header Set-Cookie "SVC_ADMIN=of-a-vhost; Path=/__svc/"; add_header Set-Cookie "other=1"; return 200 a; }
     location = /always { add_header set-cookie "svc_admin=of-a-vhost" always; add_header Set-Cookie "other=1" always; return 404; }
     location = /joined { add_header Set-Cookie $joined; add_header Set-Cookie "other=1"; return 200 a; }
     location = /up { proxy_pass http://${upstreams.setter}; }`,
})

/** The product with the hostile site on one.localhost, and the vhosts. No test changes it. */
const cleanup = fileCleanup()
let server: Server
before(async () => {
  const upstreams = {
    echo: await startUpstream(cleanup, ({ rawHeaders, url }, response) => response.end(JSON.stringify([url, rawHeaders]))),
    setter: await startUpstream(cleanup, (_request, response) =>
      response.setHeader('set-cookie', ['SVC_ADMIN=of-an-upstream', 'other=1']).end('up'),
    ),
  }
  const root = tempSite(cleanup, site)
  const dir = tempDir(cleanup, 'vhost')
  const vhosts = Object.entries(vhostsOf(upstreams)).map(
    ([name, locations]) => `server { listen 127.0.0.1:0; server_name ${name}; ${locations} }`,
  )
  writeFiles(dir, { 'vhosts.conf': `${maps}\n${vhosts.join('\n')}` })
  const allow = 'fetch_allow = ["127.0.0.0/8", "::1"]'
  const sites = `[[sites]]\nid = "one"\nhostnames = ["one.localhost"]\nroot = "${root}"\n${allow}\n`
  server = await startServer(cleanup, {
    config: `[server]\nlisten = "127.0.0.1:0"\nvhosts = ["${dir}/*.conf"]\nworkers = 1\n${adminToml}\n[render]\nworkers = 1\n${sites}`,
  })
})

/** Endpoints for the machine itself alone. */
const secret = /"leases"|"vhosts"|"config"|"purged"/

test('a site gets no right of the machine itself by requests of its server code to the instance', async (t) => {
  const redirector = await startUpstream(t, ({ url = '' }, response) => {
    response.writeHead(307, { location: decodeURIComponent(url.slice(1)) }).end()
  })
  const { port } = new URL(server.url)
  const send = async (init: Record<string, unknown>) => {
    const body = JSON.stringify(init)
    const answer = await fetchHttp(`${server.url}/send`, { method: 'POST', host: 'one.localhost', body })
    assert.equal(answer.status, 200, answer.text)
    return JSON.parse(answer.text) as { status: number; text: string }
  }
  assert.match((await fetchHttp(`${server.url}/__svc/cache/stats`)).text, secret, 'the machine itself sees it')

  const names = [
    '127.0.0.1',
    'localhost',
    '127.1',
    '2130706433',
    '0x7f.1',
    '[::ffff:127.0.0.1]',
    '[::1]',
    '0.0.0.0',
    'one.localhost',
  ]
  const reached: string[] = []
  for (const name of names) {
    const { status, text } = await send({ url: `http://${name}:${port}/__svc/cache/stats` })
    assert.ok(status === 0 || status === 401, `${name}: ${status} ${text}`)
    assert.doesNotMatch(text, secret)
    if (status === 401) reached.push(name)
  }
  assert.ok(reached.includes('127.0.0.1') && reached.includes('localhost'), `the instance was reached: ${reached}`)

  const own = `http://127.0.0.1:${port}`
  const forged = [
    { 'cdn-loop': '' },
    { 'CDN-Loop': 'another' },
    { connection: 'cdn-loop' },
    { host: 'localhost' },
    { origin: own, 'sec-fetch-site': 'same-origin', 'x-svc-request': '1' },
    { authorization: 'Bearer undefined', cookie: 'SVC_ADMIN=undefined' },
  ]
  const targets = [
    { url: `${own}/__svc/cache/purge-l0`, method: 'POST' },
    { url: `${own}/__svc/cache/purge-modules`, method: 'POST' },
    { url: `${own}/__svc/api/config` },
    { url: `${own}/__svc/debug/router` },
    { url: `${own}/api/config` },
    { url: `http://${redirector}/${encodeURIComponent(`${own}/__svc/debug/router`)}` },
    { url: `http://${redirector}/${encodeURIComponent(`${own}/__svc/cache/purge-l0`)}`, method: 'POST', body: '{}' },
  ]
  for (const target of targets) {
    for (const headers of forged) {
      const { status, text } = await send({ ...target, headers })
      assert.equal(status, 401, JSON.stringify([target, headers, text]))
    }
  }
  const reset = await send({ url: `${own}/compat-cache/purge-app`, method: 'POST', body: '{"app_root":"/"}' })
  assert.doesNotMatch(reset.text, /app_root|purged/, 'this path is the site’s for all but the machine itself')
  assert.equal(reset.status, 404)
})

test('a site gets no right of the machine itself by a rewrite or a proxied location that leads to the instance', async () => {
  for (const path of ['/in', '/loop', '/moved', '/tried', '/page']) {
    const { status, text } = await fetchHttp(server.url + path, { host: 'two.localhost' })
    assert.doesNotMatch(text, secret, path)
    assert.notEqual(status, 200, `${path}: ${text}`)
    if (path === '/in' || path === '/loop') assert.equal(status, 401, `${path} reaches the instance: ${text}`)
  }
  const { port } = new URL(server.url)
  for (const to of [
    '/__svc/cache/stats',
    `http://127.0.0.1:${port}/__svc/cache/stats`,
    `http://one.localhost:${port}/__svc/debug/router`,
  ]) {
    const { status, text } = await fetchHttp(`${server.url}/moved/x?to=${encodeURIComponent(to)}`, { host: 'one.localhost' })
    assert.doesNotMatch(text, secret, to)
    assert.notEqual(status, 200, `${to}: ${text}`)
  }
})

/** Sends fields as they are. */
async function raw(t: TestContext, url: string, lines: readonly string[]): Promise<string> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  t.after(() => socket.destroy())
  socket.write(`${lines.join('\r\n')}\r\nConnection: close\r\n\r\n`)
  let text = ''
  for await (const chunk of socket) text += String(chunk)
  return text
}

test('every field that a proxy adds, in any spelling, ends the rights of the machine itself', async (t) => {
  const status = async (...fields: string[]) => {
    const answer = await raw(t, server.url, ['GET /__svc/cache/stats HTTP/1.1', 'Host: localhost', ...fields])
    return Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1])
  }
  assert.equal(await status('Accept: */*'), 200)
  const names = [
    'Forwarded',
    'Via',
    'X-Forwarded-For',
    'X-Forwarded-Host',
    'X-Forwarded-Proto',
    'X-Forwarded-Server',
    'X-Real-IP',
    'CF-Connecting-IP',
    'CDN-Loop',
  ]
  for (const name of names) {
    for (const field of [`${name}: 127.0.0.1`, `${name.toUpperCase()}: localhost`, `${name.toLowerCase()}:`]) {
      assert.equal(await status(field), 401, field)
    }
  }
  for (const field of ['Origin: http://one.localhost', 'Origin: null', 'Sec-Fetch-Site: cross-site', 'Origin:']) {
    assert.equal(await status(field), 401, field)
  }
})

test('programs on the machine may name a site, and pages of the site are not taken for them', async (t) => {
  const status = async (...fields: string[]) => {
    const answer = await raw(t, server.url, ['GET /__svc/cache/stats HTTP/1.1', 'Host: one.localhost', ...fields])
    return Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1])
  }
  const ofNode = ['Accept-Language: *', 'Sec-Fetch-Mode: cors', 'User-Agent: node', 'Accept-Encoding: gzip, deflate']
  assert.deepEqual([await status(), await status('User-Agent: curl/8'), await status(...ofNode)], [200, 200, 200])
  for (const field of ['Origin: http://one.localhost', 'Sec-Fetch-Site: same-origin', 'Accept-Language: en']) {
    assert.equal(await status(field), 401, field)
  }
})

test('the session cookie reaches neither site code, nor variables and upstreams of vhosts, nor a log', async (t) => {
  const token = await tokenOf('root')
  const cookies = [
    [`Cookie: SVC_ADMIN=${token}`],
    [`cookie: a=1;SVC_ADMIN=${token};b=2`],
    ['Cookie: a=1', `Cookie: SVC_ADMIN=${token}`],
    [`Cookie: SVC_ADMIN="${token}"`],
    [`Cookie:  SVC_ADMIN = ${token}`],
  ]
  const paths = [
    ['one.localhost', '/echo'],
    ['reader.localhost', '/shown'],
    ['reader.localhost', '/seen'],
    ['reader.localhost', '/up'],
    ['reader.localhost', '/up-query'],
  ] as const
  const other = await raw(t, server.url, ['GET /seen HTTP/1.1', 'Host: reader.localhost', 'Cookie: a=svc_admin=1'])
  assert.match(other, /found 1/, 'the variable shows other cookies')
  const found: string[] = []
  for (const [host, path] of paths) {
    for (const fields of cookies) {
      const answer = await raw(t, server.url, [`GET ${path} HTTP/1.1`, `Host: ${host}`, ...fields])
      assert.match(answer, /^HTTP\/1\.1 200 /, `${path} ${fields}: ${answer}`)
      if (answer.includes(token) || answer.includes('found')) found.push(`${path} ${fields.join(' ').replaceAll(token, 'TOKEN')}`)
    }
  }
  assert.deepEqual(found, [])
  assert.ok(!`${server.child.stdout}${server.child.stderr}`.includes(token), 'the log has no token')
})

test('no answer of a site sets the session cookie, by any of its ways', async () => {
  for (const [host, path] of [
    ['one.localhost', '/set'],
    ['setter.localhost', '/added'],
    ['setter.localhost', '/always'],
    ['setter.localhost', '/joined'],
    ['setter.localhost', '/up'],
  ] as const) {
    const { headers, text } = await fetchHttp(server.url + path, { host })
    const cookies = headers['set-cookie'] ?? []
    assert.ok(
      cookies.some((cookie) => cookie.startsWith('other=1')),
      `${path}: ${cookies} ${text}`,
    )
    assert.deepEqual(
      cookies.filter((cookie) => /^[\s=]*svc_admin\b/i.test(cookie)),
      [],
      path,
    )
  }
})

/** Ends of lines, escape sequences of 7 and 8 bits, and a turn of the direction of text. */
const steering = '\n\r\u0000\u001b[2J\u007f\u0085\u009b31m\u2028\u202e'
// biome-ignore lint/suspicious/noControlCharactersInRegex: none of them may be in a log
const STEERS = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e]/

test('a name that a login makes up is in the log and in the audit, and steers no terminal', async () => {
  const body = JSON.stringify({ username: `mallory${steering}`, password: 'never in a log' })
  const headers = { 'content-type': 'application/json' }
  const { status } = await fetchHttp(`${server.url}/__svc/admin/api/login`, { method: 'POST', headers, body })
  assert.equal(status, 401)
  const lines = () => server.child.stderr.split('\n').filter((line) => line.includes('mallory'))
  await waitFor('the lines of the log', () => lines().length >= 2, PROCESS_WAIT_MS)
  const audit = readFileSync(join(server.configFile ?? '', '../state/audit-denied.jsonl'), 'utf8')
  const record = audit.split('\n').find((line) => line.includes('mallory')) ?? ''
  for (const line of [...lines(), record]) {
    assert.doesNotMatch(line, STEERS)
    const { username, audit: shown } = JSON.parse(line)
    assert.equal(username ?? shown.username, `mallory${steering}`)
  }
  assert.doesNotMatch(`${server.child.stdout}${server.child.stderr}${audit}`, /never in a log/)
})

test('a request that an administrator tries on the firewall leaves none of its secrets in the log and in the audit', async () => {
  const tried = {
    method: 'POST',
    path: '/tried?token=secret-of-query',
    headers: { authorization: 'Bearer secret-of-field', cookie: 'sid=secret-of-cookie' },
    body: 'password=secret-of-body',
  }
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${await tokenOf('root')}` }
  const body = JSON.stringify(tried)
  const { status, text } = await fetchHttp(`${server.url}/__svc/admin/api/waf/test`, { method: 'POST', headers, body })
  assert.equal(status, 200, text)
  const logged = () => server.child.stderr.split('\n').find((line) => line.includes('waf/test')) ?? ''
  await waitFor('the line of the log', () => logged() !== '', PROCESS_WAIT_MS)
  assert.equal(JSON.parse(JSON.parse(logged()).audit.target).path, '/tried')
  const audit = readFileSync(join(server.configFile ?? '', '../state/audit.jsonl'), 'utf8')
  assert.match(audit, /waf\/test/)
  assert.doesNotMatch(`${server.child.stdout}${server.child.stderr}${audit}`, /secret-of/)
})
