// Starts first: it starts many servers.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, watch, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { PROCESS_WAIT_MS, waitFor, writeFiles } from '@svc/testkit'
import { DeploySite, filesOf } from './deploy-site.ts'

for (const name of ['releases.json', 'overrides.json']) {
  test(`a crash when ${name} is written leaves one release live, and the next deployment works`, async (t) => {
    const site = await new DeploySite(t).start()
    const seen = Promise.withResolvers<void>()
    const watcher = watch(site.stateDir, (_, file) => {
      if (file === name) seen.resolve()
    })
    t.after(() => watcher.close())
    const deployed = site.deploy(site.release('second')).catch(() => undefined)
    await seen.promise
    process.kill(site.server.ready.pid, 'SIGKILL')
    await Promise.all([site.server.child.exited, deployed])
    await site.start()
    const [live, ...others] = (await site.releases()).filter(({ live: isLive }) => isLive)
    assert.equal(others.length, 0)
    assert.equal(await site.text(), live === undefined || live.source === site.root ? 'first' : 'second')
    assert.equal((await site.deploy(site.release('third'))).status, 200)
    assert.equal(await site.text(), 'third')
  })
}

test('a deployed directory that is gone at the start gives way to the one in the configuration', async (t) => {
  const site = await new DeploySite(t).start()
  const dir = site.release('second')
  assert.equal((await site.deploy(dir)).status, 200)
  await site.server.child.kill()
  await site.server.child.exited
  rmSync(dir, { recursive: true })
  mkdirSync(site.sources, { recursive: true })
  await site.start()
  assert.equal(await site.text(), 'first')
})

function pack(site: DeploySite, name: string, files = filesOf(name)): string {
  const file = join(site.sources, `${name}.tar.gz`)
  execFileSync('tar', ['-czf', file, '-C', site.release(`${name}-files`, files), '.'])
  return file
}

const unpackedIn = (site: DeploySite) => {
  const dir = join(site.stateDir, 'releases/shop')
  return existsSync(dir) ? readdirSync(dir).toSorted() : []
}

test('archives are unpacked and served, the latest are kept, and nothing of a refused or failed one is', async (t) => {
  const site = await new DeploySite(t, { deploy: 'max_bytes = 100_000' }).start()
  const names = ['one', 'two', 'three', 'four', 'five', 'six', 'seven']
  for (const name of names) {
    const file = pack(site, name)
    const { status, json } = await site.deploy(file)
    assert.equal(status, 200, JSON.stringify(json))
    assert.equal(json.release?.sha256, createHash('sha256').update(readFileSync(file)).digest('hex'))
    assert.equal(await site.text(), name)
  }
  await waitFor('old releases to be deleted', () => unpackedIn(site).length === 5, PROCESS_WAIT_MS)
  const before = unpackedIn(site)
  const large = pack(site, 'large', { ...filesOf('large'), 'public/large.bin': 'x'.repeat(200_000) })
  const broken = pack(site, 'broken', { ...filesOf('broken'), 'text.ts': 'export const text = (' })
  writeFileSync(join(site.sources, 'text.tar.gz'), 'no archive')
  for (const [file, code] of [
    [large, 'source_invalid'],
    [broken, 'deploy_failed'],
    [join(site.sources, 'text.tar.gz'), 'source_invalid'],
  ] as const) {
    assert.equal((await site.deploy(file)).json.code, code)
  }
  assert.deepEqual([unpackedIn(site), await site.text()], [before, 'seven'])
  assert.equal((await site.rollback()).status, 200)
  assert.equal(await site.text(), 'six')
})

test('what a crash leaves of a release is deleted at the next start, and the live one is not', async (t) => {
  const site = await new DeploySite(t).start()
  assert.equal((await site.deploy(pack(site, 'second'))).status, 200)
  const [live = ''] = unpackedIn(site)
  process.kill(site.server.ready.pid, 'SIGKILL')
  await site.server.child.exited
  writeFiles(join(site.stateDir, 'releases/shop/partial'), filesOf('partial'))
  await site.start()
  await waitFor('the partial release to be deleted', () => unpackedIn(site).join() === live, PROCESS_WAIT_MS)
  assert.equal(await site.text(), 'second')
})
