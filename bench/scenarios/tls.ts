import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type CertificateFiles, makeCertificate } from '../lib/certificate.ts'
import { type Contender, compare } from '../lib/compare.ts'
import type { ServerProcess } from '../lib/server-process.ts'
import type { Row } from '../lib/table.ts'
import { startBareServer } from '../peers/bare.ts'
import { freePort, hasNginx, startNginxCache } from '../peers/nginx.ts'
import { startSvc, workDir } from '../peers/svc.ts'

const BODY_BYTES = 1024

/** A server for a directory over TLS, configured by a vhost file. One worker, no compression, like nginx. */
async function startOwn(engine: 'uws' | 'node', root: string, { certFile, keyFile }: CertificateFiles): Promise<ServerProcess> {
  const dir = join(workDir, `tls-${engine}`)
  mkdirSync(dir, { recursive: true })
  const certificate = `ssl_certificate ${certFile}; ssl_certificate_key ${keyFile};`
  const listen = `listen 127.0.0.1:${await freePort()} ssl;`
  writeFileSync(
    join(dir, 'web.conf'),
    `server { ${listen} server_name localhost; ${certificate} root ${root}; gzip off; access_log off; }\n`,
  )
  const server = `[server]\nengine_tls = "${engine}"\nvhosts = ["web.conf"]\nworkers = 1\nstate_dir = "state"\nrun_dir = "run"\n`
  const rest = '[cache]\ndir = "cache"\n\n[logging]\naccess = false\nlevel = "warn"\n\n[render]\nworkers = 1\n'
  const file = join(dir, 'svc.config.toml')
  writeFileSync(file, `${server}\n${rest}`)
  return startSvc(file)
}

interface TlsLoad {
  readonly scenario: string
  readonly connections: number
  readonly headers?: readonly string[]
}

async function compareTls(load: TlsLoad, seconds: number): Promise<Row[]> {
  const root = join(workDir, 'tls-root')
  mkdirSync(root, { recursive: true })
  const body = join(root, 'body.html')
  writeFileSync(body, 'x'.repeat(BODY_BYTES))
  const certificate = makeCertificate(workDir)
  const origin = await startBareServer('uws', body, 'text/html; charset=utf-8')
  try {
    const host = 'localhost'
    const contenders: Contender[] = [
      { name: 'svc', host, start: () => startOwn('uws', root, certificate) },
      { name: 'svc, engine node', host, start: () => startOwn('node', root, certificate) },
    ]
    if (hasNginx) contenders.push({ name: 'nginx proxy_cache', host, start: () => startNginxCache(origin.url, certificate) })
    return await compare({ ...load, path: '/body.html', contenders, seconds })
  } finally {
    await origin.stop()
  }
}

/** 1 KB from L0 over kept connections with TLS. */
export function tlsHits(seconds: number): Promise<Row[]> {
  return compareTls({ scenario: 'L0 hit over TLS, 1 KB', connections: 32 }, seconds)
}

/** A connection with a full handshake for each request. */
export function tlsHandshakes(seconds: number): Promise<Row[]> {
  return compareTls({ scenario: 'TLS handshake and an L0 hit', connections: 32, headers: ['Connection: close'] }, seconds)
}
