import { execFileSync } from 'node:child_process'
import { join } from 'node:path'

/** Files of a certificate for localhost and of its key, in PEM form. */
export interface CertificateFiles {
  readonly certFile: string
  readonly keyFile: string
}

/** Makes a self-signed certificate with a P-256 key in a directory. */
export function makeCertificate(dir: string): CertificateFiles {
  const [certFile, keyFile] = [join(dir, 'cert.pem'), join(dir, 'key.pem')]
  const kind = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '30']
  const names = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost']
  execFileSync('openssl', ['req', ...kind, '-keyout', keyFile, '-out', certFile, ...names], { stdio: 'ignore' })
  return { certFile, keyFile }
}
