import assert from 'node:assert/strict'
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { tempDir } from '@svc/testkit'
import { makePrivateDirectory } from '../../processes/src/directories/directories.ts'
import { AcmeStore } from '../src/acme/acme-store.ts'
import { CertificateCopies } from '../src/tls/certificate-copies.ts'
import { writePrivate } from '../src/tls/private-files.ts'
import { selfSigned } from '../src/tls/self-signed.ts'

const modeOf = (path: string) => statSync(path).mode & 0o777

function prepared(t: TestContext) {
  const dir = tempDir(t, 'private')
  return { dir, copies: new CertificateCopies(join(dir, 'tls')), certificate: selfSigned(Date.now()) }
}

test('a directory that is open to others is closed to them before a key is put into it', async (t) => {
  const { dir, copies, certificate } = prepared(t)
  mkdirSync(join(dir, 'tls'))
  chmodSync(join(dir, 'tls'), 0o777)
  await copies.write([certificate])
  assert.equal(modeOf(join(dir, 'tls')), 0o700)
})

test('a key that others may read or write is replaced by one for its owner alone', async (t) => {
  const { copies, certificate } = prepared(t)
  const [spec] = await copies.write([certificate])
  assert.ok(spec)
  for (const mode of [0o644, 0o640, 0o602]) {
    chmodSync(spec.keyFile, mode)
    await copies.write([certificate])
    assert.equal(modeOf(spec.keyFile), 0o600, mode.toString(8))
    assert.equal(readFileSync(spec.keyFile, 'utf8'), certificate.keyPem)
  }
})

test('a link in place of a key is replaced, and its target is unchanged', async (t) => {
  const { dir } = prepared(t)
  const links = { same: 'key', other: 'of somebody else', nothing: undefined }
  for (const [name, text] of Object.entries(links)) {
    const elsewhere = join(dir, name)
    if (text !== undefined) writeFileSync(elsewhere, text)
    const keyFile = `${elsewhere}.key`
    symlinkSync(elsewhere, keyFile)
    await writePrivate(keyFile, 'key')
    assert.ok(lstatSync(keyFile).isFile(), name)
    assert.equal(readFileSync(keyFile, 'utf8'), 'key')
    assert.equal(modeOf(keyFile), 0o600)
    assert.equal(text === undefined ? undefined : readFileSync(elsewhere, 'utf8'), text)
    assert.equal(existsSync(elsewhere), text !== undefined)
  }
})

test('a hard link in place of a key is replaced by a separate file', async (t) => {
  const { dir } = prepared(t)
  const [elsewhere, keyFile] = [join(dir, 'elsewhere'), join(dir, 'key')]
  writeFileSync(elsewhere, 'key', { mode: 0o600 })
  linkSync(elsewhere, keyFile)
  await writePrivate(keyFile, 'key')
  assert.notEqual(statSync(keyFile).ino, statSync(elsewhere).ino)
})

test('a link or a file in place of the directory is refused, and nothing is written through it', async (t) => {
  const { dir, copies, certificate } = prepared(t)
  mkdirSync(join(dir, 'elsewhere'))
  chmodSync(join(dir, 'elsewhere'), 0o755)
  symlinkSync(join(dir, 'elsewhere'), join(dir, 'tls'))
  await assert.rejects(copies.write([certificate]), { code: 'SUP_DIRECTORY', message: /remove it/ })
  assert.deepEqual(readdirSync(join(dir, 'elsewhere')), [])
  assert.equal(modeOf(join(dir, 'elsewhere')), 0o755)
  symlinkSync(join(dir, 'nothing'), join(dir, 'dangling'))
  await assert.rejects(makePrivateDirectory(join(dir, 'dangling')), { code: 'SUP_DIRECTORY' })
  assert.equal(existsSync(join(dir, 'nothing')), false)
  writeFileSync(join(dir, 'file'), '')
  await assert.rejects(makePrivateDirectory(join(dir, 'file')), { code: 'SUP_DIRECTORY' })
})

test('the next start deletes partial files of a killed process, and nothing else', async (t) => {
  const { dir, copies, certificate } = prepared(t)
  const acme = join(dir, 'acme')
  const store = new AcmeStore(acme)
  await store.prune()
  await store.saveAccount('https://ca.test/', { keyPem: 'key' })
  const [name = ''] = readdirSync(acme)
  const begun = ['a.test.pem', 'account.json', 'failures.json'].map((file) => `${file}.00ff12ab.tmp`)
  for (const file of [...begun, 'a.test.pem', 'notes.tmp', 'x.pem.tmp']) writeFileSync(join(acme, name, file), 'key')
  writeFileSync(join(acme, 'a.test.pem.00ff12ab.tmp'), 'not where ours are')
  await store.prune()
  assert.deepEqual(readdirSync(join(acme, name)).sort(), ['a.test.pem', 'account.json', 'notes.tmp', 'x.pem.tmp'])
  assert.equal(readdirSync(acme).length, 2)
  // Of a certificate that is in service again.
  const [spec] = await copies.write([certificate])
  assert.ok(spec)
  writeFileSync(`${spec.keyFile}.00ff12ab.tmp`, 'half a key')
  await copies.prune(new Set([certificate.id]))
  assert.deepEqual(readdirSync(join(dir, 'tls')).sort(), [`${certificate.id}.crt`, `${certificate.id}.key`])
})

test('accounts and certificates of authorities are kept the same way', async (t) => {
  const { dir } = prepared(t)
  const acme = join(dir, 'acme')
  mkdirSync(acme)
  chmodSync(acme, 0o755)
  const store = new AcmeStore(acme)
  await store.saveAccount('https://ca.test/', { keyPem: 'key' })
  const [name = ''] = readdirSync(acme)
  chmodSync(join(acme, name), 0o755)
  chmodSync(join(acme, name, 'account.json'), 0o644)
  await store.saveAccount('https://ca.test/', { keyPem: 'key' })
  assert.deepEqual(
    [acme, join(acme, name), join(acme, name, 'account.json')].map((path) => modeOf(path).toString(8)),
    ['700', '700', '600'],
  )
})
