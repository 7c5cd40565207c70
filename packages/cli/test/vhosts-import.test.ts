import assert from 'node:assert/strict'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { tempDir, writeCertificate, writeFiles } from '@svc/testkit'
import { runSvc } from './run-svc.ts'

const nginx = (dir: string) => ({
  'nginx/nginx.conf': `user www-data;
worker_processes auto;
events { worker_connections 768; }
http {
  sendfile on;
  upstream backend { server 127.0.0.1:3000; server 127.0.0.1:3001; }
  include sites-enabled/*;
}
`,
  'nginx/sites-enabled/a': `server {
  listen 80 default_server;
  server_name a.test ~^www\\d+\\.test$;
  root ${dir}/missing;
  location / { proxy_pass http://backend; location /deep/ { return 200; } }
}
`,
})

test('vhosts import shows servers, upstreams and what has no effect, and writes a config file that passes the check', async (t) => {
  const dir = tempDir(t)
  writeFiles(dir, nginx(dir))
  const { cert, key } = writeCertificate(dir, 'b', { commonName: 'b.test', hosts: ['b.test'] })
  const tls = `listen 443 ssl; server_name b.test; ssl_certificate ${cert}; ssl_certificate_key ${key};`
  writeFiles(dir, { 'nginx/sites-enabled/b': `server { ${tls} location / { return 204; } }\n` })
  const shown = await runSvc(['vhosts', 'import', 'nginx/nginx.conf', '--write', 'svc.config.toml'], { cwd: dir })
  assert.equal(shown.code, 0, shown.stderr)
  assert.match(shown.stdout, /^Servers: 2\nNAMES .*\na\.test ~.*0\.0\.0\.0:80 default .* 2 +a\.test .*sites-enabled\/a:1/)
  assert.match(shown.stdout, /^b\.test +0\.0\.0\.0:443 tls +1 /m)
  assert.match(shown.stdout, /^Certificates: 1\n.*\n\S+ +\d{4}-\d\d-\d\d +b\.test +-$/m)
  assert.match(shown.stdout, /^backend +127\.0\.0\.1:3000, 127\.0\.0\.1:3001$/m)
  assert.match(shown.stdout, /^sendfile +\S+nginx\.conf:5:3 +/m)
  assert.match(shown.stdout, /cannot use: 1\nPATH.*\n\S+\/missing +directory of "root"$/m)
  assert.match(shown.stderr, /^Wrote \S+svc\.config\.toml\. Check it/)
  const written = readFileSync(join(dir, 'svc.config.toml'), 'utf8')
  assert.match(written, /^# .*sendfile/m)
  assert.match(written, /^vhosts = \["\S+\/nginx\/nginx\.conf"\]$/m)
  const checked = await runSvc(['config', 'check'], { cwd: dir })
  assert.equal(checked.code, 0, checked.stderr)

  const again = await runSvc(['vhosts', 'import', 'nginx/nginx.conf', '--write', 'svc.config.toml'], { cwd: dir })
  assert.deepEqual([again.code, again.stderr.includes('svc.config.toml exists: give --force')], [64, true], again.stderr)
  writeFiles(dir, { 'svc.config.toml': '# mine\n' })
  const forced = ['vhosts', 'import', 'nginx/nginx.conf', '--write', 'svc.config.toml', '--force']
  assert.equal((await runSvc(forced, { cwd: dir })).code, 0)
  assert.equal(readFileSync(join(dir, 'svc.config.toml'), 'utf8'), written)
  assert.equal(statSync(join(dir, 'svc.config.toml')).mode & 0o7777, 0o644)
})

test('vhosts import reports what is rejected with its place and advice, and writes nothing', async (t) => {
  const dir = tempDir(t)
  writeFiles(dir, {
    'a.conf': 'server {\n  listen 80;\n  location / {\n    perl pkg::handler;\n    root /srv;\n  }\n}\n',
  })
  const json = await runSvc(['vhosts', 'import', 'a.conf', '--json', '--write', 'c.toml'], { cwd: dir })
  assert.equal(json.code, 78)
  const { refused, servers } = JSON.parse(json.stdout) as {
    refused: Record<string, unknown>[]
    servers: Record<string, unknown>[]
  }
  assert.equal(refused.length, 1)
  assert.deepEqual([refused[0]?.['file'], refused[0]?.['line'], refused[0]?.['column']], [join(dir, 'a.conf'), 4, 5])
  assert.match(String(refused[0]?.['message']), /"perl" is not available/)
  assert.equal(typeof refused[0]?.['advice'], 'string')
  assert.equal(servers.length, 1)
  assert.match(json.stderr, /a\.conf:4:5: .*perl[\s\S]*1 problem[\s\S]*c\.toml was not written/)
  assert.throws(() => statSync(join(dir, 'c.toml')), { code: 'ENOENT' })

  const missing = await runSvc(['vhosts', 'import', 'none.conf'], { cwd: dir })
  assert.deepEqual([missing.code, missing.stdout], [78, ''])
  assert.match(missing.stderr, /no such file/)
  const unknown = await runSvc(['vhosts', 'import', 'a.conf', '--user', 'no-such-user'], { cwd: dir })
  assert.deepEqual([unknown.code, unknown.stdout], [64, ''])
})
