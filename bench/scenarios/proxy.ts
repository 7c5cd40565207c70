import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Contender, compare } from '../lib/compare.ts'
import type { Row } from '../lib/table.ts'
import { startBareServer } from '../peers/bare.ts'
import { freePort, hasNginx, startNginxProxy } from '../peers/nginx.ts'
import { rowsSite, startSvc, workDir } from '../peers/svc.ts'

const CONNECTIONS = 32

/** Writes a configuration whose only server proxies all requests. One worker, no compression, like nginx. */
export async function writeProxy(upstream: string, engine: 'uws' | 'node' = 'uws'): Promise<string> {
  const dir = join(workDir, 'proxy')
  mkdirSync(dir, { recursive: true })
  const port = await freePort()
  writeFileSync(
    join(dir, 'web.conf'),
    `upstream origin { server ${new URL(upstream).host}; keepalive 64; }
server { listen 127.0.0.1:${port}; gzip off; access_log off; client_max_body_size 0;
  location / { proxy_pass http://origin; proxy_http_version 1.1; proxy_set_header Connection ""; } }
`,
  )
  const server = `[server]\nengine = "${engine}"\nvhosts = ["web.conf"]\nworkers = 1\nrequest_timeout_secs = 600\nstate_dir = "state"\nrun_dir = "run"\n`
  const rest = '[cache]\ndir = "cache"\n\n[logging]\naccess = false\nlevel = "warn"\n\n[render]\nworkers = 1\n'
  const file = join(dir, 'svc.config.toml')
  writeFileSync(file, `${server}\n${rest}`)
  return file
}

/** 10 KB from an upstream over kept connections: this server and nginx in front of the same. */
export async function proxyTenKilobytes(seconds: number): Promise<Row[]> {
  const upstream = await startBareServer('uws', join(rowsSite, 'public/static.html'), 'text/html; charset=utf-8')
  try {
    const contenders: Contender[] = [{ name: 'svc', start: async () => startSvc(await writeProxy(upstream.url)) }]
    if (hasNginx) contenders.push({ name: 'nginx', start: () => startNginxProxy(upstream.url) })
    return await compare({ scenario: 'proxy, 10 KB', path: '/', contenders, seconds, connections: CONNECTIONS })
  } finally {
    await upstream.stop()
  }
}
