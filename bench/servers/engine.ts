// The engine with a minimal handler, for comparison with bare uWebSockets.js (`uws-hello.ts`). Sends the same bytes.
import { tmpdir } from 'node:os'
import { createUwsEngine } from '../../packages/engine/src/uws/uws-engine.ts'

const body = Buffer.alloc(Number(process.argv[2] ?? 1024), 'x')
const head = { status: 200, headers: Object.freeze([['Content-Type', 'text/plain'] as const]) }
const engine = createUwsEngine({
  onExchange: (exchange) => exchange.respond(head, body),
  limits: () => ({ maxBodyBytes: 1_000_000, requestTimeoutMs: 30_000, idleTimeoutMs: 60_000, maxHeaderBytes: 16_384 }),
  bodyDir: tmpdir,
  isTrustedProxy: () => false,
  onProblem: (error) => console.error(error),
})
console.log(`http://127.0.0.1:${await engine.listen({ name: 'bench', host: '127.0.0.1', port: 0 })}`)
