import assert from 'node:assert/strict'
import test from 'node:test'
import { fetchHttp, PROCESS_WAIT_MS, startServer, tempDir, waitFor, writeFiles } from '@svc/testkit'
import { freePlaces } from './nginx/differential.ts'

for (const engine of ['uws', 'node']) {
  test(`L0 keeps what two addresses answer to one host apart (${engine})`, async (t) => {
    const dir = tempDir(t, 'addresses')
    const [first, second] = (await freePlaces(2)).map(({ hosts, port }) => `${hosts[0]}:${port}`)
    writeFiles(dir, {
      'v.conf': `svc_cache_status on; server { listen ${first}; server_name a.test; return 200 "first"; }
server { listen ${second}; server_name a.test; svc_site a.test; return 200 "second"; }`,
    })
    await startServer(t, { config: `[server]\nengine = "${engine}"\nworkers = 1\nvhosts = ["${dir}/v.conf"]\n` })
    const ask = (address = '') => fetchHttp(`http://${address}/x`, { host: 'a.test' })
    for (const [address, text] of [
      [first, 'first'],
      [second, 'second'],
      [first, 'first'],
    ] as const) {
      await waitFor(
        `an answer of L0 at ${address}`,
        async () => {
          const { headers, text: found } = await ask(address)
          assert.equal(found, text)
          return String(headers['cache-status']).includes('svc-l0; hit')
        },
        PROCESS_WAIT_MS,
      )
    }
  })
}
