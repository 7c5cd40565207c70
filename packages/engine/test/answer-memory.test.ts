import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sendHttp1 } from './contract-client.ts'
import { expectedPour, type Poured, pour } from './engine-stream-contract.ts'
import { type EngineName, startEngine } from './start-engine.ts'

const CHUNK_BYTES = 64 * 1024
const COUNT = 20

for (const engine of ['uws', 'node'] satisfies EngineName[]) {
  for (const isSized of [true, false]) {
    const kind = isSized ? 'known' : 'unknown'
    test(`${engine}: memory of a stream of ${kind} length is given back once it is sent, and not before`, async (t) => {
      let state: Poured | undefined
      const { port } = await startEngine(t, engine, (exchange) => {
        state = pour(exchange, COUNT, CHUNK_BYTES, isSized ? COUNT * CHUNK_BYTES : undefined)
      })
      const { body } = await sendHttp1(port, { url: '/', isSlow: true })
      assert.ok(body.equals(expectedPour(COUNT, CHUNK_BYTES)))
      // Of the last ones the client may have everything before the engine hears of it.
      const unused = state?.unused ?? 0
      assert.ok(unused >= COUNT / 2 && unused <= COUNT, `${unused} of ${COUNT}`)
    })
  }
}
