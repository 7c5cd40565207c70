// Campaign: deployments of releases that fail.
import assert from 'node:assert/strict'
import { readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fetchHttp, PROCESS_WAIT_MS, waitFor } from '@svc/testkit'
import { ended, exeOf, inService, install } from './release-installation.ts'

test('the release in service comes back by itself', async (t) => {
  const { root, server, url, deploy } = await install(t, { site: 'in-process' })
  const answers = async () => (await fetchHttp(`${url}/`, { host: 'two.test' })).status
  for (const version of ['1', '2']) {
    const good = deploy(['--version', version])
    assert.equal(await ended(good), 0, good.stderr)
  }

  for (const [fault, timeout, reason] of [
    ['crash', 4, /FAILED: svc did not start/],
    ['silent', 2, /FAILED: svc was not ready within 2 s/],
    ['sick', 6, /FAILED: health report 503 sick/],
  ] as const) {
    await t.test(`from one that is ${fault}`, async () => {
      const bad = deploy(['--version', fault, '--timeout', String(timeout)], { FAULT: fault })
      assert.equal(await ended(bad), 1, bad.stderr)
      assert.match(bad.stderr, reason)
      assert.match(bad.stderr, /\n {2}\| a line of the journal\ndeploy: 2 is in service again; /)
      assert.deepEqual([inService(root), await answers()], ['2', 200])
      assert.equal(readlinkSync(join(root, 'previous')), 'releases/1')
    })
  }

  await t.test('a deployment that is interrupted goes back', async () => {
    const bad = deploy(['--swap-only', 'sick', '--timeout', '100'])
    await waitFor(
      'the health report of the release',
      () => server.isActive && exeOf(server.mainPid).includes('/releases/sick/'),
      PROCESS_WAIT_MS,
    )
    const second = deploy(['--swap-only', '1'])
    assert.equal(await ended(second), 75)
    assert.match(second.stderr, /another deployment is running/)
    bad.signal('SIGTERM')
    assert.equal(await ended(bad), 1, bad.stderr)
    assert.match(bad.stderr, /2 is in service again/)
    assert.deepEqual([inService(root), await answers()], ['2', 200])
  })
})
