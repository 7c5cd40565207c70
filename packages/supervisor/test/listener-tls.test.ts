import assert from 'node:assert/strict'
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { type LoadedConfig, loadConfig } from '@svc/config'
import { tempDir, writeCertificate, writeFiles } from '@svc/testkit'
import { automaticHosts } from '../src/acme/automatic-certificates.ts'
import { CertificateCopies } from '../src/tls/certificate-copies.ts'
import { type ChosenCertificates, chooseCertificates } from '../src/tls/listener-tls.ts'
import { selfSigned } from '../src/tls/self-signed.ts'

/** Loads a configuration, in which `<name>` stands for the files of a certificate with these host names. */
async function load(
  t: TestContext,
  certificates: Readonly<Record<string, readonly string[]>>,
  toml: string,
  vhosts = '',
): Promise<LoadedConfig> {
  const dir = tempDir(t, 'tls')
  const files: Record<string, string> = { ...Object.fromEntries([['a.conf', vhosts]]), 'site/public/index.html': 'x' }
  for (const [name, hosts] of Object.entries(certificates)) writeCertificate(dir, name, { commonName: name, hosts })
  writeFiles(dir, { ...files, 'svc.config.toml': `[server]\nlisten_tls = "127.0.0.1:1"\nvhosts = ["a.conf"]\n${toml}` })
  const result = await loadConfig({ file: 'svc.config.toml', env: {}, cwd: dir, isRoot: false })
  if (!result.ok) assert.fail(result.problems.map(({ message }) => message).join('\n'))
  return result
}

/** Certificates by the name of their file, for the names of an address. */
function shown(loaded: LoadedConfig, address: string, automatic: LoadedConfig['certificates'] = []): Record<string, string> {
  const place = { name: address, host: '', port: 1, isTls: true }
  const chosen: ChosenCertificates | undefined = chooseCertificates(place, {
    ...loaded,
    automatic,
    placeholder: undefined,
    authorities: new Map(),
  })
  assert.ok(chosen)
  const titles = new Map(chosen.certificates.map(({ id, pairs: [{ cert }] }) => [id, cert.replace(/.*\/(.*)\.crt$/, '$1')]))
  const title = (id: string) => titles.get(id) ?? assert.fail(`${id} is among the certificates`)
  return { ...Object.fromEntries(chosen.names.map(([name, id]) => [name, title(id)])), 'any other': title(chosen.fallback) }
}

const pair = (name: string) => `ssl_certificate ${name}.crt; ssl_certificate_key ${name}.key;`
const own = (name: string) => `tls_cert = "${name}.crt"\ntls_key = "${name}.key"\n`
const global = (name: string) => `[[tls.certs]]\ncert = "${name}.crt"\nkey = "${name}.key"\n`

describe('the certificates of an address', () => {
  test('servers come before sites, sites before tls.certs, and the default server is for all others', async (t) => {
    const vhosts = `
server { listen 127.0.0.1:2 ssl; server_name .web.test; ${pair('web')} }
server { listen 127.0.0.1:2 ssl default_server; server_name other.test; ${pair('other')} }
server { listen 127.0.0.1:3 ssl; server_name third.test; ${pair('third')} }`
    const sites = `[[sites]]\nid = "a"\nhostnames = ["a.test", "*.a.test"]\nroot = "site"\n${own('site')}`
    const names = {
      web: ['web.test'],
      other: ['other.test'],
      third: ['third.test'],
      site: ['a.test'],
      rest: ['a.test', '*.web.test', 'z.test'],
    }
    const loaded = await load(t, names, `${sites}${global('rest')}`, vhosts)
    const everywhere = { 'a.test': 'site', '*.a.test': 'site', 'z.test': 'rest' }
    const two = { ...everywhere, 'web.test': 'web', '*.web.test': 'web', 'other.test': 'other', 'any other': 'other' }
    assert.deepEqual(shown(loaded, '127.0.0.1:2'), two)
    const three = { ...everywhere, 'third.test': 'third', '*.web.test': 'rest', 'any other': 'third' }
    assert.deepEqual(shown(loaded, '127.0.0.1:3'), three)
    assert.deepEqual(shown(loaded, '127.0.0.1:1'), { ...everywhere, '*.web.test': 'rest', 'any other': 'rest' })
  })

  test('a name pattern is served by the names in its certificate that no other server has', async (t) => {
    const vhosts = `
server { listen 127.0.0.1:2 ssl; server_name first.test; ${pair('first')} }
server { listen 127.0.0.1:2 ssl; server_name ~^(?<x>.+)\\.p\\.test$; svc_site p; ${pair('pattern')} }
server { listen 127.0.0.1:2 ssl; server_name www.* named.test; svc_site w; ${pair('prefix')} }`
    const names = { first: ['first.test'], pattern: ['*.p.test', 'first.test'], prefix: ['www.q.test'] }
    assert.deepEqual(shown(await load(t, names, '', vhosts), '127.0.0.1:2'), {
      'first.test': 'first',
      '*.p.test': 'pattern',
      'named.test': 'prefix',
      'www.q.test': 'prefix',
      'any other': 'first',
    })
  })

  test('automatic certificates serve hosts without one; without any certificate none is chosen', async (t) => {
    const loaded = await load(t, {}, '[tls]\nauto = true\n[[sites]]\nid = "a"\nhostnames = ["a.test"]\nroot = "site"\n')
    const automatic = { ...selfSigned(Date.now()), names: ['a.test'], cert: '/x/auto.crt' }
    assert.deepEqual(shown(loaded, '127.0.0.1:1', [automatic]), { 'a.test': 'auto', 'any other': 'auto' })
    const address = { name: '127.0.0.1:1', host: '', port: 1, isTls: true }
    assert.equal(
      chooseCertificates(address, { ...loaded, automatic: [], placeholder: undefined, authorities: new Map() }),
      undefined,
    )
  })

  test('automatic ones are wanted for exact public names that no certificate is for', async (t) => {
    const vhosts = `
server { listen 127.0.0.1:2 ssl; server_name web.test *.web.test; }
server { listen 127.0.0.1:2 ssl; server_name own.test; ${pair('own')} }
server { listen 127.0.0.1:3; server_name plain.test; }`
    const sites = `[tls]\nauto = true\n[[sites]]\nid = "a"\nroot = "site"\nhostnames = ["b.test", "*.b.test", "localhost", "x.localhost", "10.0.0.1", "in.rest.test"]\n`
    const apps = '[[apps]]\nname = "app"\nhostname = "app.test"\nsource = "site"\n'
    const loaded = await load(t, { own: ['own.test'], rest: ['*.rest.test'] }, `${sites}${apps}${global('rest')}`, vhosts)
    assert.deepEqual(automaticHosts(loaded), ['app.test', 'b.test', 'web.test'])
    assert.deepEqual(automaticHosts({ ...loaded, config: { ...loaded.config, tls: { ...loaded.config.tls, auto: false } } }), [])
  })
})

describe('copies', () => {
  test('are for their owner alone, written once, and go when they are not needed', async (t) => {
    const dir = tempDir(t, 'copies')
    const copies = new CertificateCopies(join(dir, 'tls'))
    const [one, two] = [selfSigned(Date.now()), selfSigned(Date.now())]
    const [first] = await copies.write([one, two])
    assert.ok(first)
    assert.equal(readFileSync(first.keyFile, 'utf8'), one.keyPem)
    assert.equal(statSync(join(dir, 'tls')).mode & 0o777, 0o700)
    for (const name of readdirSync(join(dir, 'tls'))) assert.equal(statSync(join(dir, 'tls', name)).mode & 0o777, 0o600, name)
    const before = statSync(first.keyFile)
    await copies.write([one])
    assert.equal(statSync(first.keyFile).ino, before.ino)
    writeFileSync(first.certFile, 'somebody was here')
    await copies.write([one])
    assert.equal(readFileSync(first.certFile, 'utf8'), one.chainPem)
    // Left behind by a process that was killed while it wrote.
    writeFileSync(`${first.keyFile}.0011aabb.tmp`, 'half')
    writeFileSync(join(dir, 'tls/mine.txt'), 'not ours')
    await copies.prune(new Set([two.id]))
    assert.deepEqual(readdirSync(join(dir, 'tls')).sort(), [`${two.id}.crt`, `${two.id}.key`, 'mine.txt'].sort())
    await new CertificateCopies(join(dir, 'none')).prune(new Set())
  })
})
