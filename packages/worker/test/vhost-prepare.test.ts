import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { ServerSpec, WebSpec } from '@svc/vhosts'
import { HostRouting } from '../src/generation/host-routing.ts'
import type { ServingGeneration } from '../src/generation/serving-generation.ts'
import { createVhosts, type VhostRuntimes } from '../src/vhost/index.ts'
import { addresses, VhostServer } from './vhost-server.ts'

const broken = { source: '(', flags: 'u', names: [] } as const

async function generationOf(t: TestContext, conf: string): Promise<ServingGeneration> {
  return (await VhostServer.start(t, conf)).pipeline.generation
}

function runtimes(handlersFor: () => never): VhostRuntimes {
  const passwordThread = new URL('../src/vhost/passwords/thread-main.ts', import.meta.url)
  return createVhosts({ passwordThread, handlersFor, onProblem: (error) => assert.fail(error) })
}

/** The same servers, each of which counts how often its locations are read. */
function counting(web: WebSpec): { readonly web: WebSpec; reads(): number } {
  let reads = 0
  const servers = web.servers.map(
    (server): ServerSpec => ({
      ...server,
      get locations() {
        reads++
        return server.locations
      },
    }),
  )
  return { web: { ...web, servers }, reads: () => reads }
}

const CONF = `server { listen {on0}; server_name ~^a\\d\\.test$; location ~ ^/x { proxy_pass http://127.0.0.1:9; } }
server { listen {on1}; server_name b.test; location / { return 200 "b"; } }`

test('servers are compiled when a generation is prepared, not at the first request; upstreams are left alone', async (t) => {
  const generation = await generationOf(t, CONF)
  const { web, reads } = counting(generation.spec.web)
  const prepared = { ...generation, spec: { ...generation.spec, web } }
  const vhosts = runtimes(() => assert.fail('the upstreams are taken over before the generation is'))
  await vhosts.prepare(prepared)
  const before = reads()
  assert.ok(before >= web.servers.length)
  for (const server of web.servers) vhosts.of(prepared).server(server)
  assert.equal(reads(), before)
})

test('a pattern that cannot be compiled ends the preparation', async (t) => {
  const generation = await generationOf(t, CONF)
  const { web } = generation.spec
  const [first, second] = web.servers
  assert.ok(first !== undefined && second !== undefined)
  const locations = first.locations.map((location) => ({ ...location, match: { kind: 'pattern', pattern: broken } as const }))
  const spec = { ...generation.spec, web: { ...web, servers: [second, { ...first, locations }] } }
  await assert.rejects(runtimes(() => assert.fail('no request comes')).prepare({ ...generation, spec }), SyntaxError)
  const names = [{ kind: 'pattern', pattern: broken } as const]
  const routing = new HostRouting({ ...web, servers: [{ ...first, names }, second] }, new Map())
  await assert.rejects(routing.prepare([...addresses]), SyntaxError)
  assert.equal(routing.route(addresses[1], 'b.test')?.vhost?.server, second)
})

test('tables of all addresses are built when a generation is prepared', async (t) => {
  const { spec } = await generationOf(t, CONF)
  let reads = 0
  const servers = spec.web.servers.map(
    (server): ServerSpec => ({
      ...server,
      get listen() {
        reads++
        return server.listen
      },
    }),
  )
  const routing = new HostRouting({ ...spec.web, servers }, new Map())
  await routing.prepare([...addresses])
  const before = reads
  assert.equal(before, servers.length * addresses.length)
  assert.equal(routing.route(addresses[0], 'a1.test')?.kind, 'pattern')
  assert.equal(routing.route(addresses[1], 'b.test')?.kind, 'exact')
  assert.equal(reads, before)
})
