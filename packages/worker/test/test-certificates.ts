import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { CertificateSpec, ListenerTls } from '@svc/protocol'
import { tempDir } from '@svc/testkit'

/** Makes a self-signed certificate for these names. @param id also the common name */
export function makeCertificate(t: TestContext, id: string, names: readonly string[]): CertificateSpec {
  const dir = tempDir(t, 'certificate')
  const [certFile, keyFile] = [join(dir, 'cert.pem'), join(dir, 'key.pem')]
  const subject = ['-subj', `/CN=${id}`, '-addext', `subjectAltName=${names.map((name) => `DNS:${name}`).join(',')}`]
  const kind = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '30']
  execFileSync('openssl', ['req', ...kind, '-keyout', keyFile, '-out', certFile, ...subject], { stdio: 'ignore' })
  return { id, certFile, keyFile }
}

/** One certificate for everything. */
export function anyCertificate(t: TestContext): ListenerTls {
  const certificate = makeCertificate(t, 'any', ['a.test'])
  return { certificates: [certificate], names: [], fallback: certificate.id, minVersion: '1.2' }
}
