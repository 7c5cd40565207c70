import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { fetchHttp, requireProgram, startPhpFpm, startServer, tempDir, writeFiles } from '@svc/testkit'

const BODY_BYTES = 50 * 1024 * 1024

/** Answers with length and digest of what it was sent. */
async function startDigester(t: TestContext): Promise<string> {
  const server = createServer((request, response) => {
    const hash = createHash('sha1')
    let bytes = 0
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.byteLength
      hash.update(chunk)
    })
    request.on('end', () => response.end(`${bytes} ${hash.digest('hex')}`))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return `127.0.0.1:${(server.address() as AddressInfo).port}`
}

const digester = `<?php
$body = file_get_contents('php://input');
echo strlen($body), ' ', sha1($body);
`

for (const engine of ['uws', 'node']) {
  test(`${engine}: 50 MB reach an upstream and PHP where their location takes them, and nothing else`, async (t) => {
    const executable = requireProgram(t, 'php-fpm')
    if (executable === undefined) return
    const php = await startPhpFpm(t, executable)
    const upstream = await startDigester(t)
    const dir = tempDir(t, 'uploads')
    writeFiles(dir, {
      'www/take.php': digester,
      'a.conf': `server { listen 127.0.0.1:0; root ${dir}/www;
        location /large/ { proxy_pass http://${upstream}; client_max_body_size 64m; }
        location / { proxy_pass http://${upstream}; }
        location ~ \\.php$ { client_max_body_size 64m; include fastcgi.conf; fastcgi_param PHP_ADMIN_VALUE "memory_limit=512M"; fastcgi_pass ${php.address}; } }`,
    })
    const config = `[server]\nengine = "${engine}"\nworkers = 1\nmax_body_bytes = 1048576\nvhosts = ["${dir}/a.conf"]\n`
    const { url } = await startServer(t, { config })
    const body = Buffer.alloc(BODY_BYTES, 'not the same everywhere ')
    const digest = `${BODY_BYTES} ${createHash('sha1').update(body).digest('hex')}`
    const post = (path: string, sent: Buffer) => fetchHttp(`${url}${path}`, { method: 'POST', body: sent })
    assert.equal((await post('/large/x', body)).text, digest)
    assert.equal((await post('/take.php', body)).text, digest)
    const tooLong = body.subarray(0, 2 * 1024 * 1024)
    assert.equal((await post('/small', tooLong)).status, 413)
    assert.match((await post('/small', body.subarray(0, 1024 * 1024))).text, /^1048576 /)
  })
}

for (const engine of ['uws', 'node']) {
  test(`${engine}: the error page of a too long body is shown under any limit`, async (t) => {
    const upstream = await startDigester(t)
    const dir = tempDir(t, 'too-long')
    writeFiles(dir, {
      'www/long.html': 'shorter, please',
      'a.conf': `server { listen 127.0.0.1:0; root ${dir}/www; client_max_body_size 1k; error_page 413 /long.html;
        location /files/ { }
        location /named/ { error_page 413 @named; }
        location @named { proxy_pass http://${upstream}; }
        location / { proxy_pass http://${upstream}; }
        location = /long.html { add_header X-Page 1 always; } }`,
    })
    const config = `[server]\nengine = "${engine}"\nworkers = 1\nmax_body_bytes = 1024\nvhosts = ["${dir}/a.conf"]\n`
    const { url } = await startServer(t, { config })
    const post = (path: string, bytes: number) => fetchHttp(`${url}${path}`, { method: 'POST', body: Buffer.alloc(bytes, 'x') })
    for (const path of ['/x', '/files/x']) {
      const { status, text, headers } = await post(path, 100_000)
      assert.deepEqual([path, status, text, headers['x-page']], [path, 413, 'shorter, please', '1'])
    }
    // The upstream of the error page gets nothing of the rejected body.
    const named = await post('/named/x', 100_000)
    assert.match(named.text, /^0 /)
    assert.equal(named.status, 413)
    assert.match((await post('/x', 1024)).text, /^1024 /)
  })
}
