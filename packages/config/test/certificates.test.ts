import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { createPrivateKey } from 'node:crypto'
import { copyFileSync, readFileSync, renameSync, rmSync, symlinkSync, truncateSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { tempDir, writeCertificate } from '@svc/testkit'
import { coversName, loadCertificates } from '../src/certificates/load-certificates.ts'
import { readCertificate } from '../src/certificates/read-certificate.ts'
import { loaded, loadText, problemLines } from './load-text.ts'

const site = (names: string, more: string) =>
  `[server]\nlisten_tls = "127.0.0.1:0"\n[[sites]]\nid = "a"\nhostnames = [${names}]\nroot = "site"\n${more}`

test('a certificate is read with what it is for, and its id is that of its content', async (t) => {
  const dir = tempDir(t, 'certificates')
  const files = writeCertificate(dir, 'one', { commonName: 'ignored.test', hosts: ['A.test', '*.a.test'] })
  const read = await readCertificate(files)
  assert.ok(!Array.isArray(read))
  assert.deepEqual(read.names, ['a.test', '*.a.test'])
  assert.ok(read.notBefore <= Date.now() && read.notAfter > Date.now())
  // Certificate and key in one file, the key first, with words around them.
  const both = join(dir, 'both.pem')
  writeFileSync(both, `the key\n${readFileSync(files.key, 'utf8')}\nthe certificate\n${readFileSync(files.cert, 'utf8')}`)
  const again = await readCertificate({ cert: both, key: both })
  assert.ok(!Array.isArray(again))
  assert.equal(again.id, read.id)
  const other = await readCertificate(writeCertificate(dir, 'two', { commonName: 'a.test', hosts: ['a.test', '*.a.test'] }))
  assert.ok(!Array.isArray(other))
  assert.notEqual(other.id, read.id)
})

test('a chain in the wrong order and a key of another certificate are distinct problems', async (t) => {
  const dir = tempDir(t, 'certificates')
  const [one, two] = ['one', 'two'].map((name) => writeCertificate(dir, name, { commonName: name, hosts: [`${name}.test`] }))
  assert.ok(one !== undefined && two !== undefined)
  const chain = join(dir, 'chain.pem')
  writeFileSync(chain, readFileSync(two.cert, 'utf8') + readFileSync(one.cert, 'utf8'))
  assert.deepEqual(await readCertificate({ cert: chain, key: one.key }), [
    {
      file: 'key',
      message: `${one.key} does not match the certificate ${chain}`,
      hint: 'certificate 2 of the file belongs to this key: it must come first',
    },
  ])
  const unordered = await readCertificate({ cert: chain, key: two.key })
  assert.ok(!Array.isArray(unordered))
  assert.equal(unordered.isChainInOrder, false)
  assert.deepEqual(await readCertificate({ cert: two.cert, key: one.key }), [
    { file: 'key', message: `${one.key} does not match the certificate ${two.cert}` },
  ])
  assert.deepEqual(await readCertificate({ cert: one.key, key: one.cert }), [
    {
      file: 'cert',
      message: `${one.key} is not a certificate in PEM form`,
      hint: 'it contains a private key: are the two files swapped?',
    },
    {
      file: 'key',
      message: `${one.cert} is not a private key in PEM form`,
      hint: 'it contains a certificate: are the two files swapped?',
    },
  ])
})

test('pairs that do not fit are errors with their place, in vhost files too, each once', async (t) => {
  const dir = tempDir(t, 'certificates')
  const [one, two] = ['one', 'two'].map((name) => writeCertificate(dir, name, { commonName: name, hosts: [`${name}.test`] }))
  assert.ok(one !== undefined && two !== undefined)
  const server = (name: string) =>
    `server { listen 127.0.0.1:9 ssl; server_name ${name};\n ssl_certificate ${one.cert};\n ssl_certificate_key ${two.key}; }\n`
  const toml = `[server]\nvhosts = ["*.conf"]\n[[tls.certs]]\ncert = "${two.cert}"\nkey = "${one.key}"\n`
  const read = await loadText(t, toml, {}, { 'a.conf': `${server('x.test')}${server('y.test')}` })
  const lines = problemLines(read.dir, read.result).map((line) => line.replaceAll(`${dir}/`, ''))
  assert.deepEqual(lines, [
    'svc.config.toml:5:1: tls.certs[0].key: one.key does not match the certificate two.crt',
    'a.conf:3:22: ssl_certificate_key: two.key does not match the certificate one.crt',
  ])
})

test('certificates that clients will refuse are noticed', async (t) => {
  const dir = tempDir(t, 'certificates')
  const day = (text: string) => new Date(`${text}T00:00:00Z`)
  const validity = { from: day('2020-01-01'), to: day('2020-02-01') }
  const old = writeCertificate(dir, 'old', { commonName: 'old', hosts: ['a.test', '*.a.test'], validity })
  const early = { from: day('2120-01-01'), to: day('2120-02-01') }
  const future = writeCertificate(dir, 'new', { commonName: 'new', hosts: ['b.test'], validity: early })
  const sites = site(
    '"a.test", "x.a.test", "*.a.test", "x.y.a.test", "c.test"',
    `tls_cert = "${old.cert}"\ntls_key = "${old.key}"\n[[tls.certs]]\ncert = "${future.cert}"\nkey = "${future.key}"\n`,
  )
  const { notices, certificates, files } = loaded((await loadText(t, sites)).result)
  assert.deepEqual(notices.map((notice) => notice.replaceAll(`${dir}/`, '')).toSorted(), [
    'the certificate new.crt is not valid before 2120-01-01: clients will refuse it',
    'the certificate old.crt does not cover x.y.a.test, c.test',
    'the certificate old.crt expired on 2020-02-01: clients will refuse it',
  ])
  assert.deepEqual(certificates.map(({ cert }) => cert).toSorted(), [future.cert, old.cert])
  for (const file of [old.cert, old.key, future.cert, future.key]) assert.ok(files.includes(file), file)
})

test('a certificate of a thousand servers that it is not for is noticed once', async (t) => {
  const dir = tempDir(t, 'certificates')
  const { cert, key } = writeCertificate(dir, 'one', { commonName: 'one', hosts: ['one.test'] })
  const servers = Array.from(
    { length: 1_000 },
    (_, at) => `server { listen 127.0.0.1:2 ssl; server_name h${at}.test; ssl_certificate ${cert}; ssl_certificate_key ${key}; }`,
  )
  writeFileSync(join(dir, 'all.conf'), servers.join('\n'))
  const { notices } = loaded((await loadText(t, `[server]\nvhosts = ["${dir}/all.conf"]\n`)).result)
  const first = Array.from({ length: 10 }, (_, at) => `h${at}.test`).join(', ')
  assert.deepEqual(notices, [`the certificate ${cert} does not cover ${first} and 990 more`])
})

test('a wildcard is for one label and not for itself', () => {
  const names = ['a.test', '*.b.test']
  for (const name of ['a.test', 'x.b.test', '*.b.test']) assert.equal(coversName(names, name), true, name)
  for (const name of ['b.test', 'x.y.b.test', 'x.a.test', '*.a.test', 'test']) assert.equal(coversName(names, name), false, name)
})

test('an address cannot be plain and speak TLS, in any spelling', async (t) => {
  const problems = async (listen: string | undefined, listenTls: string) => {
    const plain = listen === undefined ? '' : `listen = "${listen}"\n`
    const { dir, result } = await loadText(t, `[server]\nlisten_tls = "${listenTls}"\n${plain}[tls]\nauto = true\n`)
    return problemLines(dir, result)
  }
  const pairs = [
    ['127.0.0.1:9', '127.0.0.1:9'],
    ['127.0.0.1:8080', '127.0.0.1:8080'],
    ['127.0.0.1:8080', 'localhost:8080'],
    ['LocalHost:9', 'localhost:9'],
    ['[::1]:9', 'localhost:9'],
    ['[::1]:9', '[0:0:0:0:0:0:0:1]:9'],
    ['[::ffff:127.0.0.1]:9', '127.0.0.1:9'],
    ['0.0.0.0:80', '127.0.0.1:80'],
    ['localhost:80', '0.0.0.0:80'],
    ['[::]:80', '0.0.0.0:80'],
    ['192.0.2.1:80', '[::]:80'],
    ['web.test:80', '0.0.0.0:80'],
  ] as const
  for (const [listen, listenTls] of pairs) {
    assert.deepEqual(await problems(listen, listenTls), [
      `svc.config.toml:2:1: server.listen_tls: "${listenTls}" opens the same address as server.listen "${listen}" (choose another port for one of them)`,
    ])
  }
  const others = [
    ['127.0.0.1:0', 'localhost:0'],
    ['127.0.0.1:80', '127.0.0.1:443'],
    ['127.0.0.1:80', '127.0.0.2:80'],
    ['0.0.0.0:80', '[::1]:80'],
    ['web.test:80', '127.0.0.1:80'],
    // The default of `listen` is not opened beside another address.
    [undefined, '0.0.0.0:8080'],
  ] as const
  for (const [listen, listenTls] of others) assert.deepEqual(await problems(listen, listenTls), [])
})

test('an address of the config file and one of a vhost file are equal in any spelling', async (t) => {
  const load = (listen: string, vhost: string) =>
    loadText(t, `[server]\nlisten = "${listen}"\nvhosts = ["a.conf"]\n`, {}, { 'a.conf': `server { listen ${vhost}; }` })
  const names = async (listen: string, vhost: string) => loaded((await load(listen, vhost)).result).listen.map(({ name }) => name)
  assert.deepEqual(await names('[0:0:0:0:0:0:0:1]:9', '[::1]:9'), ['[::1]:9'])
  assert.deepEqual(await names('localhost:9', '127.0.0.1:9'), ['127.0.0.1:9'])
  assert.deepEqual(await names('0.0.0.0:9', '127.0.0.1:9'), ['0.0.0.0:9', '127.0.0.1:9'])
  assert.deepEqual(await names('[::]:9', '0.0.0.0:9 ipv6only=off'), ['[::]:9', '0.0.0.0:9'])
  assert.deepEqual(await names('localhost:0', '[::1]:0'), ['localhost:0', '[::1]:0'])
  const { dir, result } = await load('localhost:9', '[::1]:9')
  assert.deepEqual(problemLines(dir, result), [
    'svc.config.toml:2:1: server.listen: "localhost:9" may be the same address as "[::1]:9" of a vhost file (set server.listen to "127.0.0.1:9" or "[::1]:9")',
  ])
})

test('port 0 twice is two addresses, and each keeps its name without the other', async (t) => {
  const names = async (listen: string, vhost = '') => {
    const dir = tempDir(t, 'free-ports')
    const { cert, key } = writeCertificate(dir, 'one', { commonName: 'one', hosts: ['one.test'] })
    writeFileSync(join(dir, 'all.conf'), vhost === '' ? '' : `server { listen ${vhost}; server_name one.test; }`)
    const text = `[server]\n${listen}\nvhosts = ["${dir}/all.conf"]\n[[tls.certs]]\ncert = "${cert}"\nkey = "${key}"\n`
    return loaded((await loadText(t, text)).result).listen.map(({ name, isTls }) => `${name} ${isTls}`)
  }
  const [plain, tls] = ['listen = "127.0.0.1:0"', 'listen_tls = "127.0.0.1:0"']
  assert.deepEqual(await names(`${plain}\n${tls}`), ['127.0.0.1:0 false', '127.0.0.1:0#tls true'])
  assert.deepEqual(await names(plain), ['127.0.0.1:0 false'])
  assert.deepEqual(await names(tls), ['127.0.0.1:0#tls true'])
  assert.deepEqual(await names(plain, '127.0.0.1:0'), ['127.0.0.1:0 false'])
  assert.deepEqual(await names(tls, '127.0.0.1:0'), ['127.0.0.1:0#tls true', '127.0.0.1:0 false'])
  assert.deepEqual(await names(`${plain}\n${tls}`, '127.0.0.1:0 ssl'), ['127.0.0.1:0#plain false', '127.0.0.1:0 true'])
})

test('obstacles to obtaining certificates are reported', async (t) => {
  const bare = await loadText(
    t,
    '[server]\nlisten_tls = "127.0.0.1:9"\nvhosts = ["*.conf"]\n',
    {},
    { 'a.conf': 'server { listen 8; }' },
  )
  assert.deepEqual(problemLines(bare.dir, bare.result), [
    'svc.config.toml:2:1: server.listen_tls: no certificate is configured (set ssl_certificate in a vhost file, tls.certs, tls.auto or tls_cert and tls_key of a site)',
  ])
  const { notices } = loaded((await loadText(t, '[server]\nlisten_tls = "127.0.0.1:9"\n[tls]\nauto = true\n')).result)
  assert.deepEqual(notices, [
    'tls.auto is set but no address listens for plain HTTP, which is needed to verify hosts (set server.listen)',
  ])
})

test('a certificate that ends soon is noticed', async (t) => {
  const dir = tempDir(t, 'certificates')
  const DAY_MS = 24 * 3_600_000
  const validity = { from: new Date(Date.now() - DAY_MS), to: new Date(Date.now() + 10 * DAY_MS) }
  const { cert, key } = writeCertificate(dir, 'soon', { commonName: 'soon', hosts: ['a.test'], validity })
  const { notices } = loaded((await loadText(t, site('"a.test"', `tls_cert = "${cert}"\ntls_key = "${key}"\n`))).result)
  assert.deepEqual(notices, [`the certificate ${cert} expires on ${validity.to.toISOString().slice(0, 10)}`])
})

test('an encrypted key, a directory, a pipe and an endless file are reported without waiting', async (t) => {
  const dir = tempDir(t, 'certificates')
  const files = writeCertificate(dir, 'one', { commonName: 'one', hosts: ['one.test'] })
  const faultOf = async (wrong: Partial<typeof files>) => {
    const read = await readCertificate({ ...files, ...wrong })
    assert.ok(Array.isArray(read))
    return read.map(({ file, message }) => `${file}: ${message}`).join('\n')
  }
  const encrypted = join(dir, 'encrypted.key')
  const plain = createPrivateKey(readFileSync(files.key))
  for (const [type, text] of [
    ['pkcs8', '-----BEGIN ENCRYPTED PRIVATE KEY-----'],
    ['sec1', 'Proc-Type: 4,ENCRYPTED'],
  ] as const) {
    const pem = plain.export({ type, format: 'pem', cipher: 'aes-128-cbc', passphrase: 'secret' })
    assert.ok(pem.includes(text))
    writeFileSync(encrypted, pem)
    assert.equal(await faultOf({ key: encrypted }), `key: ${encrypted} is encrypted`)
    const passwords = join(dir, 'passwords')
    const withPasswords = { ...files, key: encrypted, passwords }
    assert.equal(await faultOf(withPasswords), `key: cannot read ${passwords}`)
    writeFileSync(passwords, 'wrong\nwrong too\n')
    const none = `key: ${encrypted} is encrypted, and no line of ${passwords} is its passphrase`
    assert.equal(await faultOf(withPasswords), none)
    writeFileSync(passwords, 'wrong\r\nsecret\r\n')
    const read = await readCertificate(withPasswords)
    assert.ok(!Array.isArray(read))
    assert.equal(read.keyPem, plain.export({ type: 'pkcs8', format: 'pem' }))
    rmSync(passwords)
  }
  assert.equal(await faultOf({ cert: dir }), `cert: ${dir} is not a file`)
  const pipe = join(dir, 'pipe')
  execFileSync('mkfifo', [pipe])
  assert.equal(await faultOf({ key: pipe }), `key: ${pipe} is not a file`)
  const large = join(dir, 'large')
  writeFileSync(large, '')
  truncateSync(large, 2 ** 30)
  assert.equal(await faultOf({ cert: large }), `cert: ${large} is too large: ${2 ** 30} bytes`)
})

test('a key that no client can be served with is an error', async (t) => {
  const dir = tempDir(t, 'certificates')
  const [cert, key] = [join(dir, 'weak.crt'), join(dir, 'weak.key')]
  for (const [wish, flaw] of [
    [['rsa:512'], 'a key of 512 bits'],
    [['ec', '-pkeyopt', 'ec_paramgen_curve:secp256k1'], 'a key of the curve secp256k1'],
    [['ed448'], 'a key of type ed448'],
  ] as const) {
    const files = ['-nodes', '-subj', '/CN=weak', '-keyout', key, '-out', cert]
    execFileSync('openssl', ['req', '-x509', '-newkey', ...wish, ...files], { stdio: 'ignore' })
    const message = `${key} is ${flaw}: TLS handshakes with it fail`
    assert.deepEqual(await readCertificate({ cert, key }), [{ file: 'key', message }])
  }
})

test('a pair that is read between the two steps of its renewal is read once more', async (t) => {
  const dir = tempDir(t, 'certificates')
  const [old, next] = ['old', 'next'].map((name) => writeCertificate(dir, name, { commonName: name, hosts: ['a.test'] }))
  assert.ok(old !== undefined && next !== undefined)
  const [cert, key] = [join(dir, 'live.crt'), join(dir, 'live.key')]
  const long = new Date('2020-01-01')
  for (const file of [old.cert, old.key, next.cert, next.key]) utimesSync(file, long, long)
  const begin = () => {
    for (const file of [cert, key]) rmSync(file, { force: true })
    symlinkSync(next.cert, cert)
    symlinkSync(old.key, key)
  }
  begin()
  const { config, web } = loaded((await loadText(t, '[[sites]]\nid = "a"\nhostnames = ["a.test"]\nroot = "site"\n')).result)
  const uses = { ...config, tls: { ...config.tls, certs: [{ cert, key }] } }
  const replaced = async () => {
    symlinkSync(next.key, `${key}.new`)
    renameSync(`${key}.new`, key)
  }
  const read = await loadCertificates(uses, web, Date.now(), replaced)
  assert.deepEqual(read.findings, [])
  assert.equal(read.certificates.length, 1)

  // Written over, and half written when it was read.
  rmSync(key)
  writeFileSync(key, readFileSync(next.key, 'utf8').slice(0, 60))
  const written = await loadCertificates(uses, web, Date.now(), async () => copyFileSync(next.key, key))
  assert.equal(written.certificates.length, 1)

  // Still wrong: it is told of.
  begin()
  let pauses = 0
  const pause = async () => pauses++
  assert.equal((await loadCertificates(uses, web, Date.now(), pause)).findings.length, 1)
  assert.equal(pauses, 1)
  // It has been so for a while: nothing is waited for.
  assert.equal((await loadCertificates(uses, web, Date.now() + 3_600_000, pause)).findings.length, 1)
  assert.equal(pauses, 1)
})
