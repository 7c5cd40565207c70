import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { systemClock } from '@svc/core'
import type { ServerSpec, WebSpec } from '@svc/vhosts'
import { HostRouting } from '../src/generation/host-routing.ts'
import type { ServingGeneration } from '../src/generation/serving-generation.ts'
import { RuleTables } from '../src/route-rules/rule-tables.ts'
import { type LocationHandlers, VhostRuntimes } from '../src/vhost/index.ts'
import { ownLimits } from './own-limits.ts'
import { PipelineServer, shop } from './pipeline-server.ts'
import { addresses, VhostServer } from './vhost-server.ts'

const broken = { source: '(', flags: 'u', names: [] } as const

async function generationOf(t: TestContext, conf: string): Promise<ServingGeneration> {
  return (await VhostServer.start(t, conf)).pipeline.generation
}

function runtimes(): VhostRuntimes {
  const passwordThread = new URL('../src/vhost/passwords/thread-main.ts', import.meta.url)
  return new VhostRuntimes({
    passwordThread,
    limits: ownLimits(systemClock),
    metrics: async () => '',
    onProblem: (error) => assert.fail(error),
  })
}

/** Handlers of a generation that counts those that were made. */
class CountedHandlers implements LocationHandlers {
  count = 0

  make(): ReturnType<LocationHandlers['make']> {
    this.count++
    return { handle: () => assert.fail('no request comes') }
  }
}

const noHandler: LocationHandlers = {
  make({ kind }) {
    throw new RangeError(`no handler for ${kind}`)
  },
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

const emptyCaptures = () => ({ captures: [], setVariable: () => undefined })

const CONF = `server { listen {on0}; server_name ~^a\\d\\.test$; location ~ ^/x { proxy_pass http://127.0.0.1:9; } }
server { listen {on1}; server_name b.test; location / { return 200 "b"; } }`

test('servers and their handlers are made when a generation is prepared, not at the first request', async (t) => {
  const generation = await generationOf(t, CONF)
  const { web, reads } = counting(generation.spec.web)
  const prepared = { ...generation, spec: { ...generation.spec, web } }
  const vhosts = runtimes()
  const handlers = new CountedHandlers()
  await vhosts.prepare(prepared, handlers)
  assert.equal(handlers.count, 1)
  const before = reads()
  assert.ok(before >= web.servers.length)
  const locations = web.servers.map((server) => vhosts.of(prepared).server(server).locations.find('/x', emptyCaptures()))
  assert.deepEqual(
    locations.map((found) => found.kind !== 'none' && found.kind !== 'slash' && found.value.handler !== undefined),
    [true, false],
  )
  assert.equal(handlers.count, 1)
  assert.equal(reads(), before)
})

test('a handler that cannot be made ends the preparation, of a location as of a route rule', async (t) => {
  const generation = await generationOf(t, CONF)
  await assert.rejects(runtimes().prepare(generation, noHandler), { message: 'no handler for proxy' })
  const rule = '[[route_rules]]\npattern = "/x"\nupstream = "http://127.0.0.1:9"'
  const ruled = (await PipelineServer.start(t, [shop], rule)).generation
  await assert.rejects(new RuleTables().prepare(ruled, noHandler), { message: 'no handler for proxy' })
})

test('route rules and their handlers are made when a generation is prepared; one that was not serves nothing', async (t) => {
  const rule = '[[route_rules]]\npattern = "/x"\nupstream = "http://127.0.0.1:9"'
  const { generation } = await PipelineServer.start(t, [shop], rule)
  const tables = new RuleTables()
  const handlers = new CountedHandlers()
  await tables.prepare(generation, handlers)
  assert.equal(handlers.count, 1)
  const [table, ...others] = tables.of(generation, generation.sites.get('shop'))
  const [match] = [...(table?.matches({ path: '/x', hostname: 'shop.test', method: 'GET' }) ?? [])]
  assert.equal(match?.rule.act.kind, 'proxy')
  assert.deepEqual([handlers.count, others.length], [1, 0])
  assert.throws(() => tables.of({ ...generation }, undefined), { code: 'WORKER_NOT_PREPARED' })
  assert.throws(() => runtimes().of(generation), { code: 'WORKER_NOT_PREPARED' })
})

test('a pattern that cannot be compiled ends the preparation', async (t) => {
  const generation = await generationOf(t, CONF)
  const { web } = generation.spec
  const [first, second] = web.servers
  assert.ok(first !== undefined && second !== undefined)
  const locations = first.locations.map((location) => ({ ...location, match: { kind: 'pattern', pattern: broken } as const }))
  const spec = { ...generation.spec, web: { ...web, servers: [second, { ...first, locations }] } }
  await assert.rejects(runtimes().prepare({ ...generation, spec }, new CountedHandlers()), SyntaxError)
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
