import assert from 'node:assert/strict'
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Child, PROCESS_WAIT_MS, startLoad, svcCommand, tempDir, waitFor, writeFiles } from '@svc/testkit'
import { reloaded } from './control.ts'
import { DeploySite, filesOf } from './deploy-site.ts'

test('releases are deployed and rolled back under load without a failed request, and other sites keep theirs', async (t) => {
  const site = await new DeploySite(t).start()
  assert.deepEqual([await site.text(), await site.text('/p/1')], ['first', 'first'])
  const load = startLoad(t, { url: `${site.server.url}/`, host: 'shop.localhost', keepAlive: 4, fresh: 2 })
  for (const name of ['second', 'third']) {
    const { status, json } = await site.deploy(site.release(name))
    assert.deepEqual([status, json.release?.state, json.release?.live], [200, 'ready', true], JSON.stringify(json))
    assert.deepEqual([await site.text(), await site.text('/p/1')], [name, name])
  }
  assert.equal(await site.text('/', 'other.localhost'), 'first')
  const [third, second, first] = await site.releases('vera')
  assert.deepEqual([third?.state, second?.state, first?.state, first?.source], ['ready', 'retired', 'retired', site.root])
  for (const [id, text] of [
    [undefined, 'second'],
    [third?.id, 'third'],
    [undefined, 'second'],
    [undefined, 'first'],
  ] as const) {
    assert.equal((await site.rollback(id)).status, 200)
    assert.equal(await site.text(), text)
  }
  for (const id of [undefined, 'none']) {
    const { status, json } = await site.rollback(id)
    assert.deepEqual([status, json.code], [404, 'unknown_release'])
  }
  const report = await load.stop()
  assert.deepEqual(report.failures.slice(0, 5), [])
})

test('a release survives a reload and a crash, its edits show, and it ends when the root in the configuration changes', async (t) => {
  const site = await new DeploySite(t).start()
  assert.equal((await site.deploy(site.release('second'))).status, 200)
  await reloaded(site.server)
  assert.equal(await site.text(), 'second')
  process.kill(site.server.ready.pid, 'SIGKILL')
  await site.server.child.exited
  await site.start()
  assert.equal(await site.text(), 'second')
  site.release('second', { 'text.ts': "export const text = 'edited'" })
  await waitFor('the edit to show', async () => (await site.text()) === 'edited', PROCESS_WAIT_MS)
  const command = new Child(t, svcCommand, ['config', 'reset', 'sites.shop.release', '--config', site.server.configFile ?? ''])
  assert.equal((await command.exited).code, 0, command.stderr)
  assert.equal(await site.text(), 'first')
  assert.deepEqual(
    (await site.releases()).map(({ live }) => live),
    [false, true],
  )
  assert.equal((await site.deploy(site.release('third'))).status, 200)
  const moved = tempDir(t)
  writeFiles(moved, filesOf('moved'))
  const file = site.server.configFile ?? ''
  writeFileSync(file, readFileSync(file, 'utf8').replace(site.root, moved))
  await reloaded(site.server)
  assert.equal(await site.text(), 'moved')
  assert.deepEqual((await site.releases()).find(({ live }) => live)?.source, moved)
})

// Each leaves the first release live but the last.
test('on one server', async (t) => {
  const site = await new DeploySite(t).start()

  await t.test('a release with errors is refused with all of them, and the one before stays', async () => {
    const broken = {
      ...filesOf('broken'),
      'app/a/page.tsx': 'export default () => <p>',
      'app/b/route.ts': "import '../../missing'\nexport const GET = () => new Response('b')",
    }
    const { status, json } = await site.deploy(site.release('broken', broken))
    assert.deepEqual([status, json.code], [422, 'deploy_failed'])
    const messages = json.errors?.map(({ message }) => message).join('\n') ?? ''
    assert.match(messages, /app\/a\/page\.tsx/)
    assert.match(messages, /missing/)
    assert.equal(await site.text(), 'first')
    const [failed] = await site.releases()
    assert.deepEqual([failed?.state, failed?.live], ['failed', false])
    assert.equal((await site.rollback(failed?.id)).json.code, 'deploy_failed')
    assert.equal((await site.deploy(site.release('empty', { 'readme.txt': '' }))).status, 422)
    assert.equal(await site.text(), 'first')
  })

  await t.test(
    'sources outside of the allowed directories are refused, by their real path, and tenants have their own uploads alone',
    async () => {
      const outside = tempDir(t)
      writeFiles(outside, filesOf('outside'))
      symlinkSync(outside, join(site.sources, 'link'))
      writeFiles(site.sources, { 'file.txt': '' })
      const codeOf = async (source: string, user?: 'tom' | 'vera', id?: string) => (await site.deploy(source, user, id)).json.code
      for (const source of [outside, join(site.sources, 'link'), site.sources, '/', `${site.sources}/../x`, `${outside}/none`]) {
        assert.equal(await codeOf(source), 'source_not_allowed', source)
      }
      for (const name of ['none', 'file.txt']) assert.equal(await codeOf(join(site.sources, name)), 'source_invalid')
      assert.equal(await codeOf('relative'), 'invalid_request')

      const incoming = join(site.stateDir, 'incoming')
      for (const tenant of ['acme', 'rival']) writeFiles(join(incoming, tenant, 'shop', 'one'), filesOf(tenant))
      const ofRival = join(incoming, 'rival/shop/one')
      for (const source of [site.release('second'), ofRival, join(incoming, 'acme/../rival/shop/one'), `${ofRival}-none`]) {
        assert.equal(await codeOf(source, 'tom'), 'source_not_allowed', source)
      }
      const own = join(incoming, 'acme/shop/one')
      assert.equal(await codeOf(own, 'tom', 'other'), 'unknown_site')
      assert.equal(await codeOf(own, 'vera'), 'forbidden')
      assert.equal((await site.deploy(own, 'tom')).status, 200)
      assert.equal(await site.text(), 'acme')
      assert.equal((await site.rollback(undefined, 'tom')).status, 200)
    },
  )

  await t.test('a second deployment of a site waits for none: it is refused', async () => {
    const [one, two] = [site.release('one'), site.release('two')]
    const answers = await Promise.all([site.deploy(one), site.deploy(two), site.deploy(one, 'root', 'other')])
    const statuses = answers.map(({ status }) => status)
    assert.deepEqual(statuses.slice(0, 2).toSorted(), [200, 409])
    assert.equal(statuses[2], 200)
    assert.equal(answers.find(({ status }) => status === 409)?.json.code, 'deploy_running')
  })
})

test('a site with a process of its own names the remedy', async (t) => {
  const site = await new DeploySite(t, { site: 'process = "own"' }).start()
  const { status, json } = await site.deploy(site.release('second'))
  assert.deepEqual([status, json.code], [409, 'deploy_unsupported'])
  assert.match(json.detail ?? '', /change "root" in the configuration/)
})
