import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fetchHttp } from '@svc/testkit'
import { type EngineName, startEngine } from './start-engine.ts'

const broken = { status: 200, headers: undefined as unknown as [] }

for (const engine of ['uws', 'node'] satisfies EngineName[]) {
  for (const how of ['respond', 'stream'] as const) {
    test(`${engine}: a head that cannot be built fails the call of ${how}, and the request is answered with 500`, async (t) => {
      const { port, problems } = await startEngine(t, engine, (exchange) => void exchange[how](broken))
      assert.equal((await fetchHttp(`http://127.0.0.1:${port}/`)).status, 500)
      assert.equal(problems.length, 1)
    })
  }
}
