// The engine with L0, metrics on, in one process: every response comes from L0 with a body of this many bytes.
//
//   node l0.ts 1024                      engine uws, HTTP/1.1
//   node l0.ts 1024 node cert.pem key.pem  engine node, HTTP/2
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeEngine } from '../../packages/engine/src/make-engine.ts'
import type { Stage } from '../../packages/worker/src/request/request-context.ts'
import { noRenderer, serveDirectory } from '../../packages/worker/test/served-directory.ts'

const body = Buffer.alloc(Number(process.argv[2] ?? 1024), 'x')
const cwd = mkdtempSync(join(tmpdir(), 'bench-l0-'))
writeFileSync(join(cwd, 'svc.config.toml'), '[[sites]]\nid = "a"\nroot = "."\nhostnames = ["localhost"]\n')
const page: Stage = {
  name: 'page',
  run(context) {
    const { path } = context.request
    context.pathGroup = 'static'
    context.offerToL0({ expiresAt: Number.POSITIVE_INFINITY, label: 'a', path, tags: [], dependsOnCookies: false })
    const headers = [
      ['content-type', 'text/html; charset=utf-8'],
      ['etag', '"2m3k-so-1f0a2b3c4d"'],
      ['last-modified', 'Tue, 14 Nov 2023 22:13:20 GMT'],
      ['cache-control', 'public, max-age=0, must-revalidate'],
      ['accept-ranges', 'bytes'],
    ] as const
    context.respond({ status: 200, headers }, body)
    return 'answered'
  },
}
const onProblem = (error: Error) => console.error(error)
const { l0, onExchange } = await serveDirectory(cwd, {
  listen: [],
  renderer: noRenderer,
  app: page,
  onProblem,
  onFailure: onProblem,
})
const engineName = process.argv[3] === 'node' ? 'node' : 'uws'
const engineOptions = {
  ready: l0,
  onExchange,
  limits: () => ({ maxBodyBytes: 1_000_000, requestTimeoutMs: 30_000, idleTimeoutMs: 60_000, maxHeaderBytes: 16_384 }),
  bodyDir: tmpdir,
  isTrustedProxy: () => false,
  onProblem,
}
const engine = await makeEngine(engineName, engineOptions, (cause) => console.error(cause))
const [certFile, keyFile] = process.argv.slice(4)
const isTls = certFile !== undefined && keyFile !== undefined
if (isTls) {
  const certificate = { id: 'bench', certFile, keyFile, title: certFile }
  engine.prepareTls('bench', { certificates: [certificate], names: [], fallback: 'bench', minVersion: '1.2' })()
}
const port = await engine.listen({ name: 'bench', host: '127.0.0.1', port: 0, isTls })
console.log(`${isTls ? 'https' : 'http'}://127.0.0.1:${port}`)
