import assert from 'node:assert/strict'
import { Agent, request } from 'node:http'
import { test } from 'node:test'
import type { Cleanup } from '@svc/testkit'
import type { EngineName } from '../../engine/test/start-engine.ts'
import { startRaw } from '../../upstream/test/raw-upstream.ts'
import { startProxy } from './proxy-server.ts'

const engineNames: readonly EngineName[] = ['uws', 'node']

type Fields = Readonly<Record<string, string>>

/** Sends requests over one connection, one after another, and gives their statuses. */
async function askInTurn(
  t: Cleanup,
  port: number,
  asks: readonly (readonly [path: string, fields: Fields])[],
): Promise<number[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  t.after(() => agent.destroy())
  const statuses: number[] = []
  for (const [path, fields] of asks) {
    const { promise, resolve, reject } = Promise.withResolvers<number>()
    const headers = { host: 'a.test', ...fields }
    const asked = request({ port, host: '127.0.0.1', path, headers, agent }, (response) => {
      response.resume()
      response.on('end', () => resolve(response.statusCode ?? 0))
    })
    asked.on('error', reject)
    asked.end()
    statuses.push(await promise)
  }
  return statuses
}

const answer = 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone'

for (const engine of engineNames) {
  test(`${engine}: remembered fields of a request are not used for a different request`, async (t) => {
    const seen: string[] = []
    const up = await startRaw(t, (connection, text) => {
      seen.push(text)
      connection.send(answer)
    })
    const directives = `location / { proxy_set_header X-Set "$arg_a"; proxy_pass http://${up.address}; }`
    const { port } = await startProxy(t, directives, { engine })
    const asks: (readonly [string, Fields])[] = [
      ['/?a=1', { 'x-mine': 'one' }],
      ['/?a=1', { 'x-mine': 'one' }],
      ['/?a=1', { 'x-mine': 'one' }],
      // The same fields, but another text that the location sets.
      ['/?a=2', { 'x-mine': 'one' }],
      ['/?a=2', { 'x-mine': 'two' }],
      ['/?a=2', {}],
      ['/?a=2', {}],
      ['/?a=1', { 'x-mine': 'one' }],
      ['/', {}],
    ]
    assert.deepEqual(
      await askInTurn(t, port, asks),
      asks.map(() => 200),
    )
    const said = seen.map((text) => [/x-set: (.*)\r/.exec(text)?.[1], /x-mine: (.*)\r/.exec(text)?.[1]])
    assert.deepEqual(said, [
      ['1', 'one'],
      ['1', 'one'],
      ['1', 'one'],
      ['2', 'one'],
      ['2', 'two'],
      ['2', undefined],
      ['2', undefined],
      ['1', 'one'],
      [undefined, undefined],
    ])
    for (const text of seen) assert.equal(text.match(/\r\nhost: /g)?.length, 1)
  })

  test(`${engine}: a text that cannot be sent is refused after one that could`, async (t) => {
    const up = await startRaw(t, (connection) => connection.send(answer))
    const directives = `location ~ ^/(?<name>[^?]*)$ { proxy_set_header X-Set $name; proxy_pass http://${up.address}; }`
    const { port } = await startProxy(t, directives, { engine })
    const asks: (readonly [string, Fields])[] = [
      ['/good', {}],
      ['/good', {}],
      ['/bad%0D%0Ax-evil:%201', {}],
      ['/good', {}],
    ]
    assert.deepEqual(await askInTurn(t, port, asks), [200, 200, 400, 200])
    for (const { received } of up.connections) assert.doesNotMatch(received, /evil/)
  })
}

test('servers are told apart by host, also for repeated hosts', async (t) => {
  const outside =
    'server { listen 127.0.0.1:8099; svc_site named; server_name ~^(?<who>[a-z]+)\\.named\\.test$; default_type text/plain; return 200 "named $who"; }'
  const { port } = await startProxy(t, 'server_name a.test; return 200 "a";', { outside })
  const bodies: string[] = []
  for (const host of ['one.named.test', 'a.test', 'two.named.test', 'one.named.test', 'A.test', 'two.named.test:80']) {
    const { promise, resolve, reject } = Promise.withResolvers<string>()
    const asked = request({ port, host: '127.0.0.1', headers: { host }, agent: false }, (response) => {
      response.setEncoding('latin1')
      let text = ''
      response.on('data', (piece: string) => {
        text += piece
      })
      response.on('end', () => resolve(text))
    })
    asked.on('error', reject)
    asked.end()
    bodies.push(await promise)
  }
  assert.deepEqual(bodies, ['named one', 'a', 'named two', 'named one', 'a', 'named two'])
})
