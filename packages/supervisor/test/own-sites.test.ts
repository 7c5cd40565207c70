import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import { loadConfig } from '@svc/config'
import { createSocketChannel, type Handlers, RpcPeer, systemClock } from '@svc/core'
import { type GenerationSpec, PROTOCOL_VERSION, type SiteFile, unitMethods, unitParentMethods } from '@svc/protocol'
import { createLogger } from '@svc/telemetry'
import { tempDir, writeFiles } from '@svc/testkit'
import { defaultTimings } from '../../processes/src/child/timings.ts'
import { readPrivate, siteFilePath, unitsSocket } from '../../processes/src/directories/unit-paths.ts'
import { OwnSites } from '../src/own-site/own-sites.ts'

const nothing = () => undefined

test('a unit that comes between the two phases of a reload follows it, and stays connected', async (t) => {
  const dir = tempDir(t, 'own')
  writeFiles(dir, {
    'site/app/page.tsx': 'export default function Page() { return null }',
    'svc.config.toml': '[[sites]]\nid = "a"\nhostnames = ["a.test"]\nroot = "site"\nprocess = "own"\n',
  })
  const loaded = await loadConfig({ file: 'svc.config.toml', env: {}, cwd: dir, isRoot: false })
  assert.ok(loaded.ok)
  const { config, sites, moduleDir, web } = loaded
  const spec = (generation: number): GenerationSpec => ({
    generation,
    config,
    sites,
    moduleDir,
    web,
    loopToken: '',
    listen: [],
    tls: {},
  })
  let target = spec(1)
  const serving = Promise.withResolvers<void>()
  const own = new OwnSites({
    runDir: dir,
    target: () => target,
    purgeState: () => ({ last: 0, unsettled: [] }),
    timings: { ...defaultTimings, prepareTimeoutMs: 60_000, commitTimeoutMs: 60_000, startTimeoutMs: 60_000 },
    clock: systemClock,
    logger: createLogger({ level: 'silent', format: 'json', base: {} }),
    onEndpoints: async () => serving.resolve(),
    onAttached: async () => undefined,
    onServing: () => undefined,
    onDrained: async ({ peer }) => void (await peer.call('metrics', undefined, { timeoutMs: 60_000 })),
    onExit: nothing,
    purge: () => Promise.reject(new Error('no purge is expected')),
    sharedScript: () => Promise.reject(new Error('no cache is shared')),
    isolateLost: nothing,
    log: nothing,
    changed: async () => undefined,
  })
  await own.start()
  t.after(() => own.close())

  const asked: string[] = []
  const [attaching, mayServe] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const note = (name: string) => async () => {
    asked.push(name)
    if (name === 'attach') {
      attaching.resolve()
      await mayServe.promise
    }
    if (name === 'metrics') return { metrics: [] }
    return name === 'ping' ? { pools: [], rssBytes: 0 } : undefined
  }
  const socket = connect(unitsSocket(dir))
  t.after(() => socket.destroy())
  await once(socket, 'connect')
  const unit = new RpcPeer({
    channel: createSocketChannel(socket),
    local: unitMethods,
    handlers: Object.fromEntries(Object.keys(unitMethods).map((name) => [name, note(name)])) as unknown as Handlers<
      typeof unitMethods
    >,
    remote: unitParentMethods,
    protocolVersion: PROTOCOL_VERSION,
    peerName: 'the server',
    onProblem: nothing,
  })
  const { token } = JSON.parse(await readPrivate(siteFilePath(dir, 'a'))) as SiteFile
  await unit.call('hello', { site: 'a', token, pid: 1, version: 'test' }, { timeoutMs: 60_000 })
  await attaching.promise
  await own.prepare(spec(2))
  mayServe.resolve()
  await serving.promise
  target = spec(2)
  await own.commit(2)
  assert.deepEqual(
    asked.filter((name) => name !== 'ping'),
    ['attach', 'prepare', 'commit'],
  )
  assert.deepEqual(own.absent, [])
  assert.equal(own.running[0]?.generation, 2)
  await unit.call('leaving', undefined, { timeoutMs: 60_000 })
  assert.equal(asked.at(-1), 'metrics')
})
