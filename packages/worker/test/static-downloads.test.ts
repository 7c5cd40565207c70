import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { sendHttp1, sendHttp2 } from '../../engine/test/contract-client.ts'
import type { ContractRequest, ContractResponse } from '../../engine/test/engine-contract-types.ts'
import { startEngine } from '../../engine/test/start-engine.ts'
import { anyCertificate } from '../../engine/test/test-certificates.ts'
import { StaticSite } from './static-site.ts'

const FILE_BYTES = 3 * 1024 * 1024 + 1234
const ROUNDS = 3

const ways: readonly (readonly [
  string,
  'uws' | 'node',
  boolean,
  (port: number, asked: ContractRequest) => Promise<ContractResponse>,
])[] = [
  ['uws', 'uws', false, (port, asked) => sendHttp1(port, asked)],
  ['uws with TLS', 'uws', true, (port, asked) => sendHttp1(port, asked, true)],
  ['node', 'node', false, (port, asked) => sendHttp1(port, asked)],
  ['node, HTTP/2', 'node', true, sendHttp2],
]

for (const [name, engine, hasTls, send] of ways) {
  test(`large files reach slow and quick clients as they are, although memory is used again (${name})`, async (t) => {
    const files = new Map(['/a.bin', '/b.bin', '/c.bin'].map((path) => [path, randomBytes(FILE_BYTES)]))
    const site = new StaticSite(t, Object.fromEntries([...files].map(([path, content]) => [path.slice(1), content])))
    const { port, problems } = await startEngine(
      t,
      engine,
      (exchange) => void site.files.serve(exchange, exchange.request.path),
      hasTls ? { tls: anyCertificate(t) } : {},
    )
    for (let round = 0; round < ROUNDS; round++) {
      const asked = [...files].flatMap(([url, content]) => [true, false].map((isSlow) => ({ url, content, isSlow })))
      const answers = await Promise.all(asked.map(({ url, isSlow }) => send(port, { url, isSlow })))
      for (const [at, { url, content }] of asked.entries()) assert.ok(answers[at]?.body.equals(content), url)
    }
    assert.deepEqual(problems, [])
    assert.deepEqual(site.problems, [])
  })
}
