// Starts first: it repeats orders of certificates for most of a minute.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { fetchHttp, PROCESS_WAIT_MS, waitFor } from '@svc/testkit'
import { AcmeServer, Refusal } from './acme/acme-server.ts'
import { issuedAt, reconfigure, restart, seenAt, startWith, stateOf } from './acme/automatic-server.ts'
import { reloaded } from './control.ts'

const DAY_MS = 24 * 3_600_000

/** For certificates that have to reach every worker. */
const twoWorkers = { SVC_SERVER__WORKERS: '2' }

describe('automatic certificates', () => {
  test('are obtained while the server serves, kept over restarts, and private to the server', async (t) => {
    const acme = await AcmeServer.start(t)
    acme.badNonces = 2
    const server = await startWith(t, acme, ['a.test', '*.a.test', 'localhost'], twoWorkers)
    const before = await seenAt(server, 'wild.a.test')
    assert.deepEqual(before, { subject: 'no certificate yet', issuer: 'no certificate yet' })
    assert.deepEqual(await issuedAt(server, 'a.test'), { subject: 'issued 1', issuer: 'Test Authority' })
    assert.deepEqual(acme.orders, ['a.test'])
    assert.deepEqual(acme.contacts, [['mailto:admin@a.test']])
    const secure = server.ready.listen.find((url) => url.startsWith('https:'))
    assert.equal((await fetchHttp(`${secure}/`, { host: 'a.test' })).text, 'hello')

    const state = stateOf(server)
    assert.equal(statSync(state).mode & 0o777, 0o700)
    assert.doesNotMatch(server.child.stderr, /"level":"(?:warn|error)"/)
    const files = readdirSync(state).sort()
    assert.deepEqual(files, ['a.test.pem', 'account.json', 'failures.json'])
    for (const file of files) assert.equal(statSync(join(state, file)).mode & 0o777, 0o600, file)

    const { configFile = '' } = server
    assert.equal((await server.child.stop()).code, 0)
    assert.doesNotMatch(server.child.stderr, /unusable/)
    const restarted = await restart(t, configFile)
    assert.equal((await seenAt(restarted, 'a.test')).subject, 'issued 1')
    assert.deepEqual(acme.orders, ['a.test'])
    assert.equal((await restarted.child.stop()).code, 0)
  })

  test('that cannot be obtained are reported, delay no other, and are not ordered again at once', async (t) => {
    const acme = await AcmeServer.start(t)
    acme.unreachable.add('a.test')
    const server = await startWith(t, acme, ['a.test', 'b.test'])
    await issuedAt(server, 'b.test')
    assert.deepEqual(await seenAt(server, 'a.test'), await seenAt(server, ''))
    const { status, text } = await fetchHttp(`${server.url}/__svc/health`)
    assert.equal(status, 503)
    assert.match(text, /"tls_certs":"degraded: no certificate for a\.test: cannot connect to a\.test"/)
    assert.match(server.child.stderr, /"alert":"certificate_failed","host":"a\.test"/)
    assert.match(
      server.child.stderr,
      /check that http:\/\/a\.test\/\.well-known\/acme-challenge\/ leads to this server on port 80/,
    )
    const { failures, retryAt } = JSON.parse(readFileSync(join(stateOf(server), 'failures.json'), 'utf8'))['a.test']
    assert.equal(failures, 1)
    assert.ok(retryAt > Date.now())
    await reloaded(server)
    assert.deepEqual(acme.orders, ['a.test', 'b.test'])
  })

  test('are obtained from an authority whose own certificate has a private root', async (t) => {
    const acme = await AcmeServer.start(t, 'https')
    const server = await startWith(t, acme, ['a.test'], { NODE_EXTRA_CA_CERTS: acme.authority.rootFile })
    // The first one is its own.
    assert.deepEqual(await issuedAt(server, 'a.test'), { subject: 'issued 2', issuer: 'Test Authority' })
    assert.deepEqual(acme.orders, ['a.test'])
  })

  test('are not obtained from an authority that does not issue for the host, and the log does not blame port 80', async (t) => {
    const acme = await AcmeServer.start(t)
    acme.onOrder = () => {
      throw new Refusal(400, 'rejectedIdentifier', 'policy forbids this name')
    }
    const server = await startWith(t, acme, ['a.test'])
    const line = await server.child.waitForLine('alert', (text) => text.includes('"alert":"certificate_failed"'))
    assert.ok(line.includes(`policy forbids this name; check that ${acme.directory} is the directory of an authority`), line)
    assert.doesNotMatch(line, /port 80/)
  })

  test('are not obtained from an authority that is not trusted, and the log says how it can be', async (t) => {
    const acme = await AcmeServer.start(t, 'https')
    const server = await startWith(t, acme, ['a.test'], { NODE_EXTRA_CA_CERTS: '' })
    const line = await server.child.waitForLine('alert', (text) => text.includes('"alert":"certificate_failed"'))
    assert.match(line, /self-signed certificate in certificate chain; .*NODE_EXTRA_CA_CERTS/)
    assert.doesNotMatch(line, /port 80/)
    assert.deepEqual(acme.orders, [])
  })

  test('are not obtained from an authority that cannot be reached, and the log says who was asked', async (t) => {
    const acme = await AcmeServer.start(t)
    const { directory } = acme
    await acme.stop()
    const server = await startWith(t, acme, ['a.test'])
    const line = await server.child.waitForLine('alert', (text) => text.includes('"alert":"certificate_failed"'))
    assert.match(line, /ECONNREFUSED/)
    assert.ok(line.includes(`check that this server can reach ${directory}`), line)
  })

  test('are renewed after two thirds of their lifetime, and not ordered endlessly when issued past that', async (t) => {
    const acme = await AcmeServer.start(t)
    acme.validity = () => {
      const isFirst = acme.orders.length === 1
      const [from, to] = isFirst ? [-80, 10] : [-1, 89]
      return { from: new Date(Date.now() + from * DAY_MS), to: new Date(Date.now() + to * DAY_MS) }
    }
    const server = await startWith(t, acme, ['a.test'], twoWorkers)
    const line = await server.child.waitForLine('alert', (text) => text.includes('"alert":"certificate_failed"'))
    assert.match(line, /already due for renewal; check the clock of this machine/)
    assert.equal((await issuedAt(server, 'a.test')).subject, 'issued 1')
    assert.equal((await server.child.stop()).code, 0)
    const failures = join(stateOf(server), 'failures.json')
    assert.equal(JSON.parse(readFileSync(failures, 'utf8'))['a.test'].failures, 1)
    writeFileSync(failures, '{}')
    const again = await restart(t, server.configFile ?? '')
    acme.lead(again.url)
    await waitFor('the renewal', async () => (await seenAt(again, 'a.test')).subject === 'issued 2', PROCESS_WAIT_MS)
    assert.deepEqual(acme.orders, ['a.test', 'a.test'])
    assert.equal((await again.child.stop()).code, 0)
  })

  test('are obtained for hosts that a reload adds, and with a new account when the old one is removed', async (t) => {
    const acme = await AcmeServer.start(t)
    const server = await startWith(t, acme, ['a.test'], twoWorkers)
    await issuedAt(server, 'a.test')
    acme.forgetAccounts()
    const { configFile = '' } = server
    writeFileSync(configFile, readFileSync(configFile, 'utf8').replace('admin@', 'other@'))
    await reconfigure(server, '"a.test"', '"a.test","c.test"')
    await waitFor('the other certificate', async () => (await seenAt(server, 'c.test')).subject === 'issued 2', PROCESS_WAIT_MS)
    assert.deepEqual(acme.orders, ['a.test', 'c.test'])
    assert.deepEqual(acme.contacts, [['mailto:admin@a.test'], ['mailto:other@a.test']])
    assert.deepEqual(readdirSync(stateOf(server)).sort(), ['a.test.pem', 'account.json', 'c.test.pem', 'failures.json'])
  })
})
