import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { Child, requireProgram, startServer, svcCommand, tempDir, writeFiles } from '@svc/testkit'
import { type Machine, startMachine } from './guide/machine.ts'
import { blocksOf, readPage } from './guide/page.ts'
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

const PAGE = 'moving-from-nginx.md'
/** Commands of the page that need the machine itself. */
const ELSEWHERE = /^(?:apt|chgrp|certbot) /

/** Debian's files as installed and those that the page shows, with the certificate and the files of the shop. */
function writeMachine({ root, placed }: Machine): void {
  const nginx = join(root, 'etc/nginx')
  mkdirSync(nginx)
  for (const name of ['mime.types', 'fastcgi.conf', 'fastcgi_params', 'proxy_params', 'snippets', 'sites-available']) {
    cpSync(join('/etc/nginx', name), join(nginx, name), { recursive: true })
  }
  const main = readFileSync('/etc/nginx/nginx.conf', 'utf8')
    .replace(/^user .*;$/m, 'user root;')
    .replaceAll('/var/log/nginx', join(root, 'log'))
    .replaceAll('/run/nginx.pid', join(root, 'nginx.pid'))
  const [, shop = ''] = /^```nginx\n([\s\S]*?)^```$/m.exec(readPage(PAGE)) ?? []
  // This test has addresses of IPv4 alone.
  const onOwn = (text: string) => placed(text.replaceAll(/^\s*listen \[::\].*\n/gm, ''))
  writeFiles(root, {
    'log/made': '',
    'etc/nginx/nginx.conf': placed(main),
    'etc/nginx/conf.d/none.conf': '',
    'etc/nginx/sites-enabled/default': onOwn(readFileSync('/etc/nginx/sites-available/default', 'utf8')),
    'etc/nginx/sites-enabled/shop': onOwn(shop),
    'var/www/html/index.html': `<p>${'the stock site '.repeat(20)}</p>\n`,
    'var/www/shop/index.html': `<h1>Shop</h1><p>${'goods '.repeat(50)}</p>\n`,
    'var/www/shop/site.css': 'body { color: black }\n',
    'var/www/shop/missing.html': `<p>${'not here '.repeat(20)}</p>\n`,
    'etc/letsencrypt/archive/shop.example.org/README': '',
  })
  const live = join(root, 'etc/letsencrypt/live/shop.example.org')
  mkdirSync(live, { recursive: true })
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', 'privkey.pem']
  const names = ['-subj', '/CN=shop.example.org', '-addext', 'subjectAltName=DNS:shop.example.org']
  execFileSync('openssl', ['req', '-x509', ...key, '-days', '9', '-out', 'fullchain.pem', ...names], {
    cwd: live,
    stdio: 'ignore',
  })
  cpSync(join(live, 'fullchain.pem'), join(live, 'chain.pem'))
}

/** Output that the page promises, by the command that prints it. */
const PROMISED: Readonly<Record<string, RegExp>> = {
  'svc vhosts import /etc/nginx/nginx.conf': /shop\.example\.org/,
  'svc sites': /shop\.example\.org/,
  'svc vhosts compare /root/trial/nginx.conf --against http://127.0.0.1:80': /^[1-9]\d+ requests, 0 with differences$/m,
  'svc vhosts compare /root/trial/nginx.conf --against https://127.0.0.1:443': /^[1-9]\d+ requests, 0 with differences$/m,
  'curl -s http://shop.example.org/hello': /^hello$/m,
  'curl -s --cacert /etc/letsencrypt/live/shop.example.org/chain.pem https://shop.example.org/': /<h1>Shop<\/h1>/,
  'curl -sI http://shop.example.org/hello': /^x-served-by: svc/im,
}

test('each command of the page on moving a machine does what the page says, there and back', async (t) => {
  const needed = (['nginx', 'openssl', 'curl'] as const).map((name) => requireProgram(t, name))
  if (needed.includes(undefined)) return
  const machine = await startMachine(t)
  writeMachine(machine)
  t.after(() => machine.stopNginx())
  assert.equal((await machine.run('systemctl start nginx')).code, 0)
  const ran = new Set<string>()
  for (const { commands } of blocksOf(readPage(PAGE))) {
    for (const command of commands.filter((one) => !ELSEWHERE.test(one))) {
      const { text, code } = await machine.run(command)
      assert.equal(code, 0, `${command}\n${text}`)
      assert.match(text, PROMISED[command] ?? /^/, command)
      ran.add(command)
    }
  }
  const lost = Object.keys(PROMISED).filter((command) => !ran.has(command))
  assert.deepEqual(lost, [], 'commands that are no longer on the page')
})
