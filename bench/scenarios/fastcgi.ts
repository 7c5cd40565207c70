import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Contender, compare } from '../lib/compare.ts'
import { startPinned } from '../lib/server-process.ts'
import type { Row } from '../lib/table.ts'
import { freePort, hasNginx, startNginxFastcgi, startNginxFastcgiKept } from '../peers/nginx.ts'
import { hasPhp, phpRoot, startPhp } from '../peers/php-fpm.ts'
import { repositoryRoot, startSvc, workDir } from '../peers/svc.ts'

const CONNECTIONS = 16

/** Writes a configuration whose only server passes requests to an application. One worker, no compression, like nginx. */
async function writeFastcgi(location: string, outside = ''): Promise<string> {
  const dir = join(workDir, 'fastcgi')
  mkdirSync(dir, { recursive: true })
  writeFileSync(
    join(dir, 'web.conf'),
    `${outside}
server { listen 127.0.0.1:${await freePort()}; gzip off; access_log off; root ${phpRoot}; index index.php; ${location} }
`,
  )
  const file = join(dir, 'svc.config.toml')
  const server = '[server]\nvhosts = ["web.conf"]\nworkers = 1\nstate_dir = "state"\nrun_dir = "run"\n'
  writeFileSync(file, `${server}\n[cache]\ndir = "cache"\n\n[logging]\naccess = false\nlevel = "warn"\n\n[render]\nworkers = 1\n`)
  return file
}

const scripts = (address: string) => `location ~ \\.php$ { fastcgi_pass ${address}; include /etc/nginx/fastcgi.conf; }`

/** 10 KB from PHP, a connection for each request: this server and nginx in front of the same php-fpm. */
export async function fastcgiTenKilobytes(seconds: number): Promise<Row[]> {
  if (!hasPhp || !hasNginx) return []
  const php = await startPhp()
  try {
    const contenders: Contender[] = [
      { name: 'svc', start: async () => startSvc(await writeFastcgi(scripts(php.url))) },
      { name: 'nginx', start: () => startNginxFastcgi(php.url, phpRoot) },
    ]
    return await compare({ scenario: 'FastCGI, 10 KB', path: '/index.php', contenders, seconds, connections: CONNECTIONS })
  } finally {
    await php.stop()
  }
}

/** This many bytes from an application without work, over kept connections: this server and nginx in front of the same. */
export async function fastcgiKept(bytes: number, seconds: number): Promise<Row[]> {
  if (!hasNginx) return []
  const app = await startPinned(
    {
      command: join(repositoryRoot, 'bin/node'),
      args: ['--disable-warning=ExperimentalWarning', join(repositoryRoot, 'bench/servers/fastcgi.ts'), String(bytes)],
      ready: (output) => /127\.0\.0\.1:\d+/.exec(output)?.[0],
    },
    2,
  )
  const location = 'location / { fastcgi_pass app; include /etc/nginx/fastcgi.conf; }'
  try {
    const contenders: Contender[] = [
      {
        name: 'svc',
        start: async () => startSvc(await writeFastcgi(location, `upstream app { server ${app.url}; keepalive 64; }`)),
      },
      { name: 'nginx', start: () => startNginxFastcgiKept(app.url) },
    ]
    return await compare({ scenario: `FastCGI, ${bytes} bytes, kept`, path: '/a', contenders, seconds, connections: CONNECTIONS })
  } finally {
    await app.stop()
  }
}
