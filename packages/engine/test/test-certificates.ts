import type { TestContext } from 'node:test'
import type { CertificateSpec, ListenerTls } from '@svc/http'
import { tempDir, writeCertificate } from '@svc/testkit'

/** Makes a self-signed certificate for these names. @param id also the common name */
export function makeCertificate(t: TestContext, id: string, names: readonly string[]): CertificateSpec {
  const { cert, key } = writeCertificate(tempDir(t, 'certificate'), id, { commonName: id, hosts: names })
  return { id, certFile: cert, keyFile: key, title: `file of ${id}` }
}

/** One certificate for everything. */
export function anyCertificate(t: TestContext): ListenerTls {
  const certificate = makeCertificate(t, 'any', ['a.test'])
  return { certificates: [certificate], names: [], fallback: certificate.id, minVersion: '1.2' }
}
