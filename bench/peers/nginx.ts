import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import type { CertificateFiles } from '../lib/certificate.ts'
import { type ServerProcess, startPinned } from '../lib/server-process.ts'
import { workDir } from './svc.ts'

const BINARY = '/usr/sbin/nginx'

export const hasNginx = existsSync(BINARY)

export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once('error', reject)
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address()
      probe.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0))
    })
  })
}

/** Starts nginx with one worker process serving a directory, logs off. */
export function startNginx(root: string): Promise<ServerProcess> {
  return startWith((port) => `server { listen 127.0.0.1:${port}; root ${root}; }`)
}

/** Starts nginx with one worker process that caches all responses of an upstream; over TLS if there is a certificate. */
export function startNginxCache(upstream: string, tls?: CertificateFiles): Promise<ServerProcess> {
  const secure = tls === undefined ? '' : `ssl_certificate ${tls.certFile}; ssl_certificate_key ${tls.keyFile};`
  const server = (port: number) => `proxy_cache_path ${nginxDir}/cache keys_zone=l0:16m max_size=256m;
  upstream origin { server ${new URL(upstream).host}; keepalive 4; }
  server { listen 127.0.0.1:${port}${secure === '' ? '' : ' ssl'}; ${secure}
    location / { proxy_pass http://origin; proxy_http_version 1.1; proxy_set_header Connection "";
      proxy_cache l0; proxy_cache_valid 200 1h; proxy_ignore_headers Cache-Control; } }`
  return startWith(server, tls === undefined ? 'http' : 'https')
}

/** Starts nginx with one worker process that proxies all requests over kept connections. */
export function startNginxProxy(upstream: string): Promise<ServerProcess> {
  const server = (
    port: number,
  ) => `upstream origin { server ${new URL(upstream).host}; keepalive 64; keepalive_requests 1000000; }
  server { listen 127.0.0.1:${port};
    location / { proxy_pass http://origin; proxy_http_version 1.1; proxy_set_header Connection ""; } }`
  return startWith(server)
}

/** Starts nginx with one worker process that passes all scripts of a directory to a FastCGI application. */
export function startNginxFastcgi(address: string, root: string): Promise<ServerProcess> {
  return startWith(
    (port) => `server { listen 127.0.0.1:${port}; root ${root}; index index.php;
    location ~ \\.php$ { fastcgi_pass ${address}; include /etc/nginx/fastcgi.conf; } }`,
  )
}

/** Starts nginx with one worker process that passes all requests to a FastCGI application over kept connections. */
export function startNginxFastcgiKept(address: string): Promise<ServerProcess> {
  return startWith(
    (port) => `upstream app { server ${address}; keepalive 64; keepalive_requests 1000000; }
  server { listen 127.0.0.1:${port};
    location / { fastcgi_pass app; fastcgi_keep_conn on; include /etc/nginx/fastcgi.conf; } }`,
  )
}

/** Starts nginx with one worker process that proxies to the server which the field `X-Instance` names by its number. */
export function startNginxByInstance(urls: readonly string[], cores: 1 | 2): Promise<ServerProcess> {
  const groups = urls.map(
    (url, i) => `upstream instance-${i} { server ${new URL(url).host}; keepalive 64; keepalive_requests 1000000; }`,
  )
  const server = (port: number) => `${groups.join('\n')}
  server { listen 127.0.0.1:${port}; client_max_body_size 64m;
    location / { proxy_pass http://instance-$http_x_instance; proxy_http_version 1.1; proxy_set_header Connection "";
      proxy_set_header Host $host; proxy_read_timeout 60s; proxy_next_upstream off; } }`
  return startWith(server, 'http', cores)
}

const nginxDir = join(workDir, 'nginx')

async function startWith(server: (port: number) => string, scheme = 'http', cores: 1 | 2 = 1): Promise<ServerProcess> {
  const dir = nginxDir
  mkdirSync(dir, { recursive: true })
  const port = await freePort()
  const file = join(dir, 'nginx.conf')
  const text = `daemon off; master_process on; worker_processes 1; pid ${dir}/nginx.pid; error_log stderr notice;
events { worker_connections 1024; }
http { include /etc/nginx/mime.types; access_log off; sendfile on; tcp_nopush on; keepalive_requests 1000000;
  client_body_temp_path ${dir}/body; proxy_temp_path ${dir}/proxy; fastcgi_temp_path ${dir}/fastcgi; uwsgi_temp_path ${dir}/uwsgi; scgi_temp_path ${dir}/scgi;
  ${server(port)} }
`
  writeFileSync(file, text)
  const isReady = (output: string) => (output.includes('start worker process ') ? `${scheme}://127.0.0.1:${port}` : undefined)
  return startPinned({ command: BINARY, args: ['-p', dir, '-e', 'stderr', '-c', file], ready: isReady }, cores)
}
