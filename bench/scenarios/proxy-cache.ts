import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Contender, compare } from '../lib/compare.ts'
import type { Row } from '../lib/table.ts'
import { startBareServer } from '../peers/bare.ts'
import { freePort, hasNginx, startNginxCache } from '../peers/nginx.ts'
import { rowsSite, startSvc, workDir } from '../peers/svc.ts'

const CONNECTIONS = 32

/** Writes a configuration whose only server caches all responses of an upstream. One worker, no compression, like nginx. */
async function writeCaching(name: string, upstream: string, hasL0: boolean): Promise<string> {
  const dir = join(workDir, name)
  mkdirSync(dir, { recursive: true })
  const port = await freePort()
  writeFileSync(
    join(dir, 'web.conf'),
    `upstream origin { server ${new URL(upstream).host}; keepalive 4; }
server { listen 127.0.0.1:${port}; gzip off; access_log off;
  location / { proxy_pass http://origin; proxy_http_version 1.1; proxy_cache on; proxy_cache_valid 200 1h; } }
`,
  )
  const server = '[server]\nvhosts = ["web.conf"]\nworkers = 1\nstate_dir = "state"\nrun_dir = "run"\n'
  const rest = `[cache]\ndir = "cache"\n[cache.l0]\nenabled = ${hasL0}\n\n[logging]\naccess = false\nlevel = "warn"\n`
  const file = join(dir, 'svc.config.toml')
  writeFileSync(file, `${server}\n${rest}`)
  return file
}

/** 10 KB of an upstream from the proxy cache: through L0, and from the store that all workers share. */
export async function proxyCacheHits(seconds: number): Promise<Row[]> {
  const upstream = await startBareServer('uws', join(rowsSite, 'public/static.html'), 'text/html; charset=utf-8')
  try {
    const svc = (name: string, hasL0: boolean) => async () => startSvc(await writeCaching(name, upstream.url, hasL0))
    const contenders: Contender[] = [
      { name: 'svc', start: svc('proxy-cache', true) },
      { name: 'svc past L0', start: svc('proxy-cache-store', false) },
    ]
    if (hasNginx) contenders.push({ name: 'nginx proxy_cache', start: () => startNginxCache(upstream.url) })
    return await compare({ scenario: 'proxy cache, 10 KB', path: '/', contenders, seconds, connections: CONNECTIONS })
  } finally {
    await upstream.stop()
  }
}
