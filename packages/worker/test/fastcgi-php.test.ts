import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readdirSync, writeFileSync } from 'node:fs'
import { type IncomingMessage, request } from 'node:http'
import { join } from 'node:path'
import { test } from 'node:test'
import { waitFor } from '@svc/testkit'
import { type PhpSite, startPhpSite } from './php-site.ts'

const sha1 = (bytes: Uint8Array) => createHash('sha1').update(bytes).digest('hex')

/** Begins a request and waits for the head of its answer. */
async function begin({ server }: PhpSite, path: string): Promise<IncomingMessage> {
  const asked = request({ port: server.port, host: '127.0.0.1', path, agent: false })
  asked.end()
  const [response] = await once(asked, 'response')
  return response
}

async function firstLine(response: IncomingMessage): Promise<string> {
  let text = ''
  response.on('data', (data: Buffer) => {
    text += data
  })
  await waitFor('the first line of the answer', () => text.includes('\n'))
  return text.slice(0, text.indexOf('\n'))
}

/** How an answer ended: `true` when it was whole. */
function ended(response: IncomingMessage): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  response.on('error', () => undefined)
  response.on('close', () => resolve(response.complete))
  response.resume()
  return promise
}

for (const [engine, isTcp] of [
  ['uws', false],
  ['node', true],
] as const) {
  test(`a script gets client and request ${isTcp ? 'over TCP' : 'over a unix socket'}, by engine ${engine}`, async (t) => {
    const site = await startPhpSite(t, { isTcp, engine })
    if (site === undefined) return
    const { text, headers } = await site.get('/echo.php/extra/path?a=b%20c', {
      method: 'POST',
      host: 'a.test:99',
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        proxy: 'http://evil.test/',
        x_forwarded_for: '9.9.9.9',
        'x-forwarded-for': '8.8.8.8',
        'x-own-field': 'own',
        cookie: 'a=1; SVC_ADMIN=secret; b=2',
      },
      body: 'x=y&z=1',
    })
    const { server, get, post, length } = JSON.parse(text)
    const at = (name: string) => server[name]
    assert.deepEqual([get, post, length], [{ a: 'b c' }, { x: 'y', z: '1' }, 7])
    assert.equal(headers['content-type'], 'application/json')
    assert.equal(at('SCRIPT_NAME'), '/echo.php')
    assert.equal(at('SCRIPT_FILENAME'), join(site.dir, 'echo.php'))
    assert.equal(at('PATH_INFO'), '/extra/path')
    assert.equal(at('REQUEST_URI'), '/echo.php/extra/path?a=b%20c')
    assert.equal(at('HTTP_HOST'), 'a.test:99')
    assert.equal(at('HTTP_X_OWN_FIELD'), 'own')
    assert.equal(at('HTTP_COOKIE'), 'a=1; b=2', 'the cookie of the admin endpoints is nobody else’s')
    assert.equal(at('HTTP_PROXY'), undefined, 'a client does not choose the proxy of a script')
    assert.equal(at('HTTP_X_FORWARDED_FOR'), undefined, 'neither as it is nor with an underscore')
    assert.equal(at('CONTENT_LENGTH'), '7')
    assert.match(at('HTTP_CDN_LOOP'), /^svc;/)
  })
}

test('the output of a script becomes the response', async (t) => {
  const site = await startPhpSite(t, {
    directives: 'fastcgi_hide_header X-Secret;',
    locations: 'location /inside/ { internal; return 200 "found inside"; }',
  })
  if (site === undefined) return
  const get = (kind: string, method = 'GET') => site.get(`/answer.php?kind=${kind}`, { method })
  const redirect = await get('redirect')
  assert.deepEqual([redirect.status, redirect.headers.location], [302, '/elsewhere?x=1'])
  const moved = await get('moved')
  assert.deepEqual([moved.status, moved.headers.location], [301, 'http://other.test/'])
  assert.deepEqual((await get('cookies')).headers['set-cookie'], ['a=1', 'b=2'])
  const gone = await get('gone')
  assert.deepEqual([gone.status, gone.text], [404, 'gone'])
  assert.deepEqual([(await get('empty')).status, (await get('empty')).text], [204, ''])
  const unchanged = await get('unchanged')
  assert.deepEqual([unchanged.status, unchanged.headers.etag, unchanged.text], [304, '"e"', ''])
  const typed = await get('typed')
  assert.deepEqual([typed.headers['content-type'], typed.headers['x-own'], typed.text], ['text/css;charset=UTF-8', 'yes', 'a{}'])
  const length = await get('length', 'HEAD')
  assert.deepEqual([length.status, length.headers['content-length'], length.text], [200, '5', ''])
  assert.equal((await get('inside')).text, 'found inside')
  const hidden = await get('hidden')
  assert.deepEqual([hidden.headers['x-secret'], hidden.headers['x-accel-expires'], hidden.text], [undefined, undefined, 'ok'])
  assert.equal((await get('fields')).headers['x-f-49'], 'v'.repeat(200))
  assert.deepEqual(site.server.failures, [])
})

test("errors of a script are logged, and the response is the script's", async (t) => {
  const site = await startPhpSite(t)
  if (site === undefined) return
  const { failures } = site.server
  /** Number of log lines read so far. */
  let seen = 0
  const news = () => {
    const from = seen
    seen = failures.length
    return failures.slice(from)
  }
  assert.equal((await site.get('/answer.php?kind=fatal')).status, 500)
  assert.match(news().join('\n'), /PHP Fatal error:\s+Uncaught Error: Call to undefined function/)
  assert.equal((await site.get('/answer.php?kind=exit')).status, 200)
  news()
  assert.equal((await site.get('/answer.php?kind=log')).text, 'logged')
  assert.deepEqual(
    news()
      .join(' ')
      .match(/first|second/g),
    ['first', 'second'],
  )
  assert.equal((await site.get('/answer.php?kind=much-log')).text, 'logged')
  const much = news()
  assert.ok(much.join('').length < 70_000, 'what a request writes is bounded')
  assert.match(much.at(-1) ?? '', /further output omitted/)
  const missing = await site.get('/missing.php')
  assert.deepEqual([missing.status, missing.text], [404, 'File not found.\n'])
  assert.match(news().join('\n'), /Primary script unknown/)
  const tooMany = await site.get('/answer.php?kind=too-many')
  assert.equal(tooMany.status, 502)
  assert.match(news().join('\n'), /502 .*head that is too long/)
})

test('sessions live on', async (t) => {
  const site = await startPhpSite(t)
  if (site === undefined) return
  const first = await site.get('/session.php')
  const cookie = first.headers['set-cookie']?.[0]?.split(';')[0] ?? ''
  assert.match(cookie, /^PHPSESSID=/)
  assert.deepEqual([first.text, (await site.get('/session.php', { headers: { cookie } })).text], ['1', '2'])
})

test('a file of 20 MB is uploaded whole', async (t) => {
  const settings = 'php_admin_value[upload_max_filesize] = 64M\nphp_admin_value[post_max_size] = 64M'
  const site = await startPhpSite(t, { settings, directives: 'client_max_body_size 64m;' })
  if (site === undefined) return
  const file = randomBytes(20 << 20)
  const part = (fields: string) => `--b\r\ncontent-disposition: form-data; ${fields}\r\n\r\n`
  const body = Buffer.concat([
    Buffer.from(`${part('name="title"')}the title\r\n${part('name="file"; filename="f.bin"')}`),
    file,
    Buffer.from('\r\n--b--\r\n'),
  ])
  const headers = { 'content-type': 'multipart/form-data; boundary=b' }
  const { text } = await site.get('/upload.php', { method: 'POST', headers, body })
  assert.deepEqual(JSON.parse(text), { name: 'f.bin', error: 0, size: file.byteLength, sha1: sha1(file), title: 'the title' })
})

for (const [bytes, engine] of [
  [0, 'uws'],
  [5, 'node'],
  [3 << 20, 'uws'],
  [3 << 20, 'node'],
] as const) {
  test(`a body of unknown length comes whole: ${bytes} bytes, engine ${engine}`, async (t) => {
    const site = await startPhpSite(t, { engine, directives: 'client_max_body_size 8m;' })
    if (site === undefined) return
    const body = randomBytes(bytes)
    const { text, status } = await site.get('/echo.php', { method: 'PUT', headers: { 'transfer-encoding': 'chunked' }, body })
    assert.equal(status, 200)
    const { server, length, sha1: hash } = JSON.parse(text)
    assert.deepEqual([server.CONTENT_LENGTH, length, hash], [String(bytes), bytes, sha1(body)])
    if (bytes > 1 << 20) assert.deepEqual(readdirSync(join(site.dir, 'state/bodies')), [], 'files of bodies have no name')
  })
}

test('a body of unknown length is limited while it comes', async (t) => {
  const site = await startPhpSite(t, { directives: 'client_max_body_size 1k;' })
  if (site === undefined) return
  const headers = { 'transfer-encoding': 'chunked' }
  const { status } = await site.get('/echo.php', { method: 'PUT', headers, body: randomBytes(4096) })
  assert.equal(status, 413)
})

test('a large answer comes whole, and as fast as its client takes it', async (t) => {
  const site = await startPhpSite(t)
  if (site === undefined) return
  const { body, headers } = await site.get('/answer.php?kind=big&kib=4096')
  assert.equal(body.byteLength, 4 << 20)
  assert.equal(headers['content-length'], undefined)
  assert.equal(body[(4 << 20) - 1], 97 + (4095 % 26))
})

test('flushed output of a script is sent at once', async (t) => {
  const site = await startPhpSite(t)
  if (site === undefined) return
  const gate = join(site.dir, 'gate')
  const response = await begin(site, `/stream.php?head=1&gate=${gate}`)
  assert.match(await firstLine(response), /^\d+$/)
  writeFileSync(gate, '')
  assert.equal(await ended(response), true)
})

test('a process that is killed in the middle of its answer cuts it visibly', async (t) => {
  const site = await startPhpSite(t)
  if (site === undefined) return
  const response = await begin(site, `/stream.php?head=1&gate=${join(site.dir, 'never')}`)
  process.kill(Number(await firstLine(response)), 'SIGKILL')
  assert.equal(await ended(response), false)
  assert.match(site.server.failures.join('\n'), /^502 .*php.sock/)
})

test('a process that is killed before its answer is answered with 502, and the next one answers', async (t) => {
  const site = await startPhpSite(t, { maxChildren: 1 })
  if (site === undefined) return
  const { text: pid } = await site.get('/pid.php')
  const began = join(site.dir, 'began')
  const answer = site.get(`/stream.php?gate=${join(site.dir, 'never')}&began=${began}`)
  await waitFor('the script to begin', () => readdirSync(site.dir).includes('began'))
  process.kill(Number(pid), 'SIGKILL')
  assert.equal((await answer).status, 502)
  assert.notEqual((await site.get('/pid.php')).text, pid)
})

test('a script that takes too long is answered with 504', async (t) => {
  const site = await startPhpSite(t, { directives: 'fastcgi_read_timeout 300ms;' })
  if (site === undefined) return
  const gate = join(site.dir, 'gate')
  t.after(() => writeFileSync(gate, ''))
  assert.equal((await site.get(`/stream.php?gate=${gate}`)).status, 504)
})

test('while all processes are busy, further requests wait for one', async (t) => {
  const site = await startPhpSite(t, { maxChildren: 1 })
  if (site === undefined) return
  const gate = join(site.dir, 'gate')
  const response = await begin(site, `/stream.php?head=1&gate=${gate}`)
  await firstLine(response)
  const waiting = [site.get('/pid.php'), site.get('/pid.php'), site.get('/pid.php')]
  writeFileSync(gate, '')
  assert.equal(await ended(response), true)
  for (const answer of waiting) assert.equal((await answer).status, 200)
})

test('with keepalive a connection serves one request after another, and a dead one is replaced', async (t) => {
  const site = await startPhpSite(t, { outside: 'upstream app { server {php}; keepalive 2; }', pass: 'app', maxChildren: 1 })
  if (site === undefined) return
  const { text: pid } = await site.get('/pid.php')
  for (let i = 0; i < 20; i++) assert.equal((await site.get('/pid.php')).text, pid)
  process.kill(Number(pid), 'SIGKILL')
  const { status, text } = await site.get('/pid.php')
  assert.deepEqual([status, text === pid], [200, false])
})

test('without keepalive no process is held by an idle connection', async (t) => {
  const site = await startPhpSite(t, { maxChildren: 1 })
  if (site === undefined) return
  const { text: pid } = await site.get('/pid.php')
  const other = await startPhpSite(t, { pass: site.php.address })
  if (other === undefined) return
  const { text } = await other.get('/pid.php')
  assert.notEqual(text, '')
  assert.equal((await site.get('/pid.php')).text, pid)
})

test('no php-fpm is 502; the page of an error may be a script', async (t) => {
  const site = await startPhpSite(t, {
    locations: `location /dead { fastcgi_pass unix:/none.sock; error_page 502 /echo.php; }
      location /deader { fastcgi_pass unix:/none.sock; }`,
  })
  if (site === undefined) return
  assert.equal((await site.get('/deader')).status, 502)
  const page = await site.get('/dead', { method: 'POST', body: 'the body' })
  assert.equal(page.status, 502)
  const { server, length } = JSON.parse(page.text)
  assert.deepEqual([server.REQUEST_METHOD, server.CONTENT_LENGTH, length], ['GET', '8', 8])
})

test('try_files sees the name of the script, as the snippet of Debian wants it', async (t) => {
  const site = await startPhpSite(t, { directives: 'try_files $fastcgi_script_name =404;' })
  if (site === undefined) return
  assert.equal((await site.get('/missing.php/x')).text.includes('File not found.'), false)
  assert.equal((await site.get('/missing.php/x')).status, 404)
  assert.equal(JSON.parse((await site.get('/echo.php/x')).text).server.SCRIPT_NAME, '/echo.php')
})
