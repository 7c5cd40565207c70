// Starts first: it starts many servers.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, watch, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { PROCESS_WAIT_MS, waitFor, writeFiles } from '@svc/testkit'
import { DeploySite, filesOf } from './deploy-site.ts'

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

// One site for all of them: each finds the release that the one before has left.
test('the server is killed', async (t) => {
  const site = await new DeploySite(t).start()
  const kill = async () => {
    process.kill(site.server.ready.pid, 'SIGKILL')
    await site.server.child.exited
  }

  for (const name of ['releases.json', 'overrides.json']) {
    await t.test(`when ${name} is written: one release is live, and the next deployment works`, async (t) => {
      const before = await site.text()
      const after = `changed-${name}`
      const seen = Promise.withResolvers<void>()
      const watcher = watch(site.stateDir, (_, file) => {
        if (file === name) seen.resolve()
      })
      t.after(() => watcher.close())
      const deployed = site.deploy(site.release(after)).catch(() => undefined)
      await seen.promise
      await Promise.all([kill(), deployed])
      await site.start()
      const [live, ...others] = (await site.releases()).filter(({ live: isLive }) => isLive)
      assert.equal(others.length, 0)
      assert.equal(await site.text(), live?.source.endsWith(after) ? after : before)
      const next = `after-${name}`
      assert.equal((await site.deploy(site.release(next))).status, 200)
      assert.equal(await site.text(), next)
    })
  }

  await t.test('what it leaves of a release is deleted at the next start, and the live one is not', async () => {
    assert.equal((await site.deploy(pack(site, 'packed'))).status, 200)
    const [live = ''] = unpackedIn(site)
    await kill()
    writeFiles(join(site.stateDir, 'releases/shop/partial'), filesOf('partial'))
    await site.start()
    await waitFor('the partial release to be deleted', () => unpackedIn(site).join() === live, PROCESS_WAIT_MS)
    assert.equal(await site.text(), 'packed')
  })

  await t.test('a deployed directory that is gone at the next start gives way to the one in the configuration', async () => {
    const dir = site.release('gone')
    assert.equal((await site.deploy(dir)).status, 200)
    await kill()
    rmSync(dir, { recursive: true })
    mkdirSync(site.sources, { recursive: true })
    await site.start()
    assert.equal(await site.text(), 'first')
  })
})
