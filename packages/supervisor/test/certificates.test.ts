import assert from 'node:assert/strict'
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { type LoadedConfig, loadConfig } from '@svc/config'
import { systemClock } from '@svc/core'
import type { ListenerTls } from '@svc/protocol'
import { tempDir, writeCertificate, writeFiles } from '@svc/testkit'
import { Certificates } from '../src/tls/certificates.ts'

const LISTEN = [{ name: '127.0.0.1:1', host: '127.0.0.1', port: 1, isTls: true }]

/** A configuration with a site whose certificate is this one. */
async function load(dir: string, certificate: string, server = ''): Promise<LoadedConfig> {
  const site = `[[sites]]\nid = "a"\nhostnames = ["a.test"]\nroot = "site"\ntls_cert = "${certificate}.crt"\ntls_key = "${certificate}.key"\n`
  writeFiles(dir, { 'svc.config.toml': `[server]\nlisten_tls = "127.0.0.1:1"\n${server}${site}` })
  const result = await loadConfig({ file: 'svc.config.toml', env: {}, cwd: dir, isRoot: false })
  if (!result.ok) assert.fail(result.problems.map(({ message }) => message).join('\n'))
  return result
}

function prepared(t: TestContext) {
  const dir = tempDir(t, 'tls')
  for (const name of ['old', 'new']) writeCertificate(dir, name, { commonName: name, hosts: ['a.test'] })
  writeFiles(dir, { 'site/public/index.html': 'x' })
  const none = { certificates: async () => [], problems: () => [], missing: () => [], renew: () => false }
  return { dir, certificates: new Certificates(join(dir, 'run'), none, systemClock) }
}

const only = (tls: Readonly<Record<string, ListenerTls>>) => tls['127.0.0.1:1'] ?? assert.fail('the address has certificates')

describe('certificates in service', () => {
  test('a generation that does not come into service leaves no trace in those that are made of what is in service', async (t) => {
    const { dir, certificates } = prepared(t)
    const old = await load(dir, 'old')
    const tls = await certificates.tlsFor(LISTEN, old)
    await certificates.served(tls)
    // Workers could not load it: it was dropped.
    await certificates.tlsFor(LISTEN, await load(dir, 'new'))
    const again = await certificates.tlsFor(LISTEN, { ...old, certificates: certificates.files })
    assert.deepEqual(only(again), only(tls))
  })

  test('are known by the files of the configuration and where those are named, not by their copies', async (t) => {
    const { dir, certificates } = prepared(t)
    const vhosts = `server {\n listen 127.0.0.1:1 ssl; server_name b.test;\n ssl_certificate new.crt;\n ssl_certificate_key new.key; }\n`
    writeFiles(dir, { 'a.conf': vhosts })
    const { certificates: specs } = only(await certificates.tlsFor(LISTEN, await load(dir, 'old', 'vhosts = ["a.conf"]\n')))
    assert.deepEqual(specs.map(({ title }) => title).sort(), [
      `${dir}/new.crt (${dir}/a.conf:3:18)`,
      `${dir}/old.crt (sites[0].tls_cert)`,
    ])
  })

  test('are reported without their keys, with source and state; only one in a file is known to be that', async (t) => {
    const { dir, certificates } = prepared(t)
    await certificates.served(await certificates.tlsFor(LISTEN, await load(dir, 'old')))
    const [report, ...others] = certificates.report()
    assert.deepEqual(others, [])
    const { names, source, state, file, reason } = report ?? assert.fail()
    assert.deepEqual([names, source, state, file, reason], [['a.test'], 'file', 'valid', join(dir, 'old.crt'), null])
    assert.match(report?.issuer ?? '', /CN=/)
    assert.ok(Date.parse(report?.not_after ?? '') > Date.parse(report?.not_before ?? ''))
    assert.doesNotMatch(JSON.stringify(report), /PRIVATE KEY/)
    assert.deepEqual([certificates.renew('a.test'), certificates.renew('b.test')], ['file', 'unknown'])
  })

  test('leave no key behind when the server ends during a reload', async (t) => {
    const { dir, certificates } = prepared(t)
    const [old, next] = [await load(dir, 'old'), await load(dir, 'new')]
    await certificates.served(await certificates.tlsFor(LISTEN, old))
    const reload = certificates.tlsFor(LISTEN, next)
    const settled = Promise.allSettled([reload])
    await certificates.close()
    await settled
    assert.deepEqual(readdirSync(join(dir, 'run/tls')), [])
    await assert.rejects(certificates.tlsFor(LISTEN, old), { code: 'SUP_STOPPED' })
  })

  test('a broken file is reported until a reload has read it', async (t) => {
    const { dir, certificates } = prepared(t)
    const loaded = await load(dir, 'old')
    await certificates.served(await certificates.tlsFor(LISTEN, loaded))
    assert.deepEqual(certificates.problems(), [])
    writeFileSync(join(dir, 'old.key'), 'broken')
    await certificates.recheck()
    assert.match(certificates.problems()?.join() ?? '', /old\.key is not a private key/)
    // As an automatic certificate that was renewed is taken in.
    await certificates.served(await certificates.tlsFor(LISTEN, { ...loaded, certificates: certificates.files }))
    assert.match(certificates.problems()?.join() ?? '', /old\.key is not a private key/)
    certificates.noFaults()
    assert.deepEqual(certificates.problems(), [])
  })
})
