// Campaign: faults of what is remembered of a certificate authority.
import assert from 'node:assert/strict'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { PROCESS_WAIT_MS, waitFor } from '@svc/testkit'
import { AcmeServer } from './acme/acme-server.ts'
import { issuedAt, restart, seenAt, startWith, stateOf } from './acme/automatic-server.ts'

for (const [what, broken] of [
  ['files that are not whole', '{"a.test":{"fail'],
  ['failures noted by a clock that was wrong', JSON.stringify({ 'a.test': { failures: 9, retryAt: 4e12, reason: 'x' } })],
  ['failures of another form', '{"a.test":{"retryAt":"never"},"b.test":null}'],
] as const) {
  test(`${what} do not keep a host from its certificate`, async (t) => {
    const acme = await AcmeServer.start(t)
    const server = await startWith(t, acme, ['a.test'])
    await issuedAt(server, 'a.test')
    assert.equal((await server.child.stop()).code, 0)
    const state = stateOf(server)
    rmSync(join(state, 'a.test.pem'))
    for (const file of ['failures.json', 'account.json']) writeFileSync(join(state, file), broken)
    const again = await restart(t, server.configFile ?? '')
    acme.lead(again.url)
    await waitFor('the second certificate', async () => (await seenAt(again, 'a.test')).subject === 'issued 2', PROCESS_WAIT_MS)
    assert.equal((await again.child.stop()).code, 0)
  })
}
