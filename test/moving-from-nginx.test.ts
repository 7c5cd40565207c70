import assert from 'node:assert/strict'
import { cpSync, existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { Child, requireProgram, startServer, svcCommand, tempDir, writeFiles } from '@svc/testkit'
import { freePlaces } from './nginx/differential.ts'

const shop = (www: string, address: string) => `map $arg_lang $language { default en; de de; }
server {
  listen ${address};
  server_name shop.test *.shop.test;
  root ${www};
  error_page 404 /missing.html;
  location = /old { return 301 /new; }
  location /files/ { alias ${www}/; expires 1h; add_header X-Language $language; }
  location ~* \\.(css|js)$ { expires 7d; add_header X-Kind asset always; }
  location /private/ { deny all; }
  location /new { return 200 "new $language"; }
  rewrite ^/blog/(\\d+)$ /files/$1.html last;
}
`

const FILES = {
  'index.html': `<!doctype html><p>${'welcome '.repeat(100)}</p>\n`,
  'site.css': `body { color: black }\n${'/* */'.repeat(100)}\n`,
  'missing.html': '<p>not here</p>\n',
  'photos/a.txt': 'a\n',
}

/** Debian's files as installed, with other paths and one listen address, and a site beside the stock one. */
function writeTree(dir: string, www: string, address: string): void {
  mkdirSync(join(dir, 'log'), { recursive: true })
  const placed = (text: string) =>
    text
      .replaceAll('/etc/nginx', dir)
      .replaceAll('/var/log/nginx', join(dir, 'log'))
      .replaceAll('/run/nginx.pid', join(dir, 'nginx.pid'))
      .replaceAll('/var/www/html', www)
      .replace(/^user .*;$/m, 'user root;')
      .replace(/^\s*listen \[::\].*$/m, '')
      .replace(/listen 80 /, `listen ${address} `)
  for (const name of ['mime.types', 'fastcgi.conf', 'fastcgi_params', 'proxy_params', 'snippets']) {
    cpSync(join('/etc/nginx', name), join(dir, name), { recursive: true })
  }
  writeFiles(dir, {
    'nginx.conf': placed(readFileSync('/etc/nginx/nginx.conf', 'utf8')),
    'sites-enabled/default': placed(readFileSync('/etc/nginx/sites-available/default', 'utf8')),
    'sites-enabled/shop': shop(www, address),
  })
}

async function startNginx(t: TestContext, executable: string, dir: string): Promise<void> {
  const args = ['-p', dir, '-e', 'stderr', '-c', join(dir, 'nginx.conf'), '-g', 'daemon off;']
  const child = new Child(t, executable, args, { endSignal: 'SIGTERM' })
  // It logs to its file from then on.
  const { promise, resolve } = Promise.withResolvers<void>()
  const look = setInterval(() => {
    if (existsSync(join(dir, 'nginx.pid')) || child.process.exitCode !== null) resolve()
  }, 20)
  await promise
  clearInterval(look)
  assert.equal(child.process.exitCode, null, child.stderr)
}

async function svc(t: TestContext, cwd: string, args: readonly string[]) {
  const child = new Child(t, svcCommand, args, { cwd })
  const { code } = await child.exited
  return { code, stdout: child.stdout, stderr: child.stderr }
}

test("Debian's nginx files are imported and served as nginx serves them, and compare finds a difference", async (t) => {
  const executable = requireProgram(t, 'nginx')
  if (executable === undefined) return
  const dir = tempDir(t, 'moving')
  const www = join(dir, 'www')
  writeFiles(www, FILES)
  const [place, other] = await freePlaces(2)
  assert.ok(place && other)
  const [theirs, ours] = [`${place.hosts[0]}:${place.port}`, `${place.hosts[1]}:${place.port}`]
  const against = `http://${other.hosts[0]}:${other.port}`
  writeTree(join(dir, 'theirs'), www, theirs)
  writeTree(join(dir, 'ours'), www, ours)
  const changed = `server { listen ${against.slice('http://'.length)}; root ${www}; location /new { return 200 changed; } }\n`
  writeFiles(join(dir, 'theirs/sites-enabled'), { changed })
  const conf = join(dir, 'ours/nginx.conf')

  const down = await svc(t, dir, ['vhosts', 'compare', conf, '--against', against])
  assert.deepEqual([down.code, down.stdout], [69, ''], down.stderr)
  assert.match(down.stderr, /does not answer/)
  await startNginx(t, executable, join(dir, 'theirs'))

  const config = join(dir, 'svc.config.toml')
  const imported = await svc(t, dir, ['vhosts', 'import', conf, '--write', config])
  assert.equal(imported.code, 0, imported.stderr)
  await startServer(t, { config: readFileSync(config, 'utf8') })

  const same = await svc(t, dir, ['vhosts', 'compare', conf, '--against', `http://${theirs}`])
  assert.equal(same.code, 0, `${same.stdout}${same.stderr}`)
  assert.match(same.stdout, /^[1-9]\d\d requests, 0 with differences$/m)

  writeFiles(dir, { requests: `# two\nGET http://shop.test/new?lang=de\nHEAD http://shop.test/site.css\n` })
  const options = ['--requests', 'requests', '--json', '--url', `http://${ours}`]
  const differs = await svc(t, dir, ['vhosts', 'compare', conf, '--against', against, ...options])
  assert.equal(differs.code, 1, differs.stderr)
  const { requests, different } = JSON.parse(differs.stdout) as { requests: number; different: Record<string, unknown>[] }
  assert.equal(requests, 2)
  assert.deepEqual(
    different.map(({ method, target }) => `${method} ${target}`),
    ['GET /new?lang=de', 'HEAD /site.css'],
  )

  writeFiles(dir, { requests: 'DELETE http://shop.test/\n' })
  const unsafe = await svc(t, dir, ['vhosts', 'compare', conf, '--against', `http://${theirs}`, ...options])
  assert.deepEqual([unsafe.code, unsafe.stdout], [64, ''], unsafe.stderr)
})
