// Starts first: it builds releases, which takes most of a minute.
import assert from 'node:assert/strict'
import { appendFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fetchHttp, PROCESS_WAIT_MS, startLoad, waitFor } from '@svc/testkit'
import { ended, exeOf, inService, install } from './release-installation.ts'

test('a release is put into service, or the one before stays', async (t) => {
  const { root, server, site, url, deploy } = await install(t)
  const releases = () => readdirSync(join(root, 'releases')).sort()
  const answers = async () => (await fetchHttp(`${url}/`, { host: 'two.test' })).status

  await t.test('the first release is built and started', async () => {
    const first = deploy(['--version', '1', '--accept-degraded'])
    assert.equal(await ended(first), 0, first.stderr)
    assert.match(first.stdout, /^deploy: 1 is in service: health report 503 .*no process serves one/m)
    assert.deepEqual([inService(root), await answers()], ['1', 200])
    assert.ok(exeOf(server.mainPid).startsWith(join(root, 'releases/1/')))
    assert.ok(await site.restart())
    const answered = async () => (await fetchHttp(`${url}/`, { host: 'one.test' })).status === 200
    await waitFor('the unit of the site', answered, PROCESS_WAIT_MS)
  })

  await t.test('wrong requests are refused before anything happens, and a dry run does nothing', async () => {
    const before = server.restarts
    const cases: readonly [args: readonly string[], code: number, text: RegExp][] = [
      [['--version', '1'], 64, /there is a release 1/],
      [['--version', '../x'], 64, /letters, digits/],
      [['--keep', 'many'], 64, /not a number: many/],
      [['--bogus'], 64, /unknown argument --bogus/],
      [['--timeout'], 64, /--timeout needs a value/],
      [['--swap-only', '1'], 64, /1 is in service already/],
      [['--swap-only', '9'], 69, /no release 9/],
      [['--swap-only'], 69, /no other release/],
      [['--rollback'], 69, /no release to go back to/],
      [['--unit', 'other', '--version', '2'], 64, /the unit other does not start/],
      [['--dry-run', '--version', '2'], 0, /^$/],
      [['--version', '2', '--config', '/nowhere.toml'], 78, /2 rejects \/nowhere\.toml/],
    ]
    for (const [args, code, text] of cases) {
      const refused = deploy(args)
      assert.deepEqual([await ended(refused), text.test(refused.stderr)], [code, true], `${args.join(' ')}: ${refused.stderr}`)
    }
    assert.deepEqual([releases(), inService(root), server.restarts], [['1'], '1', before])
  })

  await t.test('a build that the disk has no room for leaves nothing behind', async () => {
    const full = deploy(['--version', '2'], { FAULT: 'full' })
    assert.equal(await ended(full), 1)
    assert.match(full.stderr, /No space left on device\ndeploy: the build failed/)
    assert.deepEqual([releases(), readdirSync(join(root, 'releases')).length], [['1'], 1])
  })

  await t.test('no request fails while a release replaces another, also for a site with a process of its own', async (t) => {
    const clients = { keepAlive: 1, fresh: 2, retriesKept: true }
    const loads = ['one.test', 'two.test'].map((host) => startLoad(t, { url: `${url}/`, host, ...clients }))
    const second = deploy(['--version', '2'])
    assert.equal(await ended(second), 0, second.stderr)
    for (const load of loads) assert.deepEqual((await load.stop()).failures.slice(0, 5), [])
    assert.equal(inService(root), '2')
    for (const { mainPid } of [server, site]) assert.ok(exeOf(mainPid).startsWith(join(root, 'releases/2/')))
  })

  await t.test('a site gets a release for itself, and the server stays', async () => {
    const { mainPid } = server
    const one = deploy(['--swap-only', '1', '--site', 'one'])
    assert.equal(await ended(one), 0, one.stderr)
    assert.match(one.stdout, /only svc-one was restarted; the server takes 1 at its next restart/)
    assert.equal(server.mainPid, mainPid)
    assert.ok(exeOf(site.mainPid).startsWith(join(root, 'releases/1/')))
    assert.equal(await ended(deploy(['--rollback', '--site', 'one'])), 0)
    assert.ok(exeOf(site.mainPid).startsWith(join(root, 'releases/2/')))
  })

  await t.test('a release that was changed after its build is refused with the names of its files', async () => {
    appendFileSync(join(root, 'releases/1/dist/cli.js'), '\n')
    const changed = deploy(['--rollback'])
    assert.equal(await ended(changed), 78)
    assert.match(changed.stderr, / {2}\.\/dist\/cli\.js\ndeploy: \S+\/1 was changed after it was built/)
    assert.equal(inService(root), '2')
  })

  await t.test('old releases are deleted, but none that is in service, before it, or running', async () => {
    const third = deploy(['--version', '3', '--keep', '0'])
    assert.equal(await ended(third), 0, third.stderr)
    assert.deepEqual(releases(), ['2', '3'])
    const back = deploy(['--rollback', '--keep', '0'])
    assert.equal(await ended(back), 0, back.stderr)
    assert.deepEqual([inService(root), releases(), await answers()], ['2', ['2', '3'], 200])
  })
})
