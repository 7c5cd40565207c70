// The engine and the stages of a worker, with a vhost file that is nothing but `proxy_pass`, in one process: for profiles.
// The argument is the address of the upstream; with a second argument, "fastcgi", it speaks FastCGI.
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createUwsEngine } from '../../packages/engine/src/uws/uws-engine.ts'
import { noRenderer, serveDirectory } from '../../packages/worker/test/served-directory.ts'

const ADDRESS = '127.0.0.1:8099'
const cwd = mkdtempSync(join(tmpdir(), 'bench-proxy-'))
const [address = '', protocol = 'http'] = process.argv.slice(2)
const pass = protocol === 'fastcgi' ? 'fastcgi_pass app; include /etc/nginx/fastcgi.conf;' : 'proxy_pass http://app;'
const group = `upstream app { server ${address}; keepalive 64; }`
const server = `${group} server { listen ${ADDRESS}; gzip off; client_max_body_size 0; location / { ${pass} } }`
writeFileSync(join(cwd, 'svc.config.toml'), '[server]\nvhosts = ["web.conf"]\n')
writeFileSync(join(cwd, 'web.conf'), server)
const onProblem = (error: Error) => console.error(error)
const { l0, onExchange } = await serveDirectory(cwd, {
  listen: [{ name: ADDRESS, host: '127.0.0.1', port: 0 }],
  renderer: noRenderer,
  app: { name: 'app', run: () => 'next' },
  onProblem,
  onFailure: onProblem,
})
const engine = createUwsEngine({
  ready: l0,
  onExchange,
  limits: () => ({ maxBodyBytes: 1e12, requestTimeoutMs: 30_000, idleTimeoutMs: 60_000, maxHeaderBytes: 16_384 }),
  bodyDir: tmpdir,
  isTrustedProxy: () => false,
  onProblem,
})
console.log(`http://127.0.0.1:${await engine.listen({ name: ADDRESS, host: '127.0.0.1', port: 0 })}`)
