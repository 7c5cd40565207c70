import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

const NEW_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']

/**
 * Writes a root authority (`root.pem`), one below it, and a certificate of `up.test` with both chains (`leaf.pem`, `leaf.key`), a
 * foreign authority (`other.pem`), one with a key of RSA (`rsa.pem`), a client's certificate (`client.pem`, `client.key`, and `locked.key` with `passwords`), and lists
 * of revoked certificates: `clean.crl`, and `revoked.crl` with that of `up.test`.
 */
export function writeChain(dir: string): void {
  const at = (name: string) => join(dir, name)
  const openssl = (...args: string[]) =>
    execFileSync('openssl', args, { cwd: dir, stdio: ['ignore', 'pipe', 'ignore'] }).toString()
  const selfSigned = (name: string, subject: string, newKey: readonly string[] = NEW_KEY) =>
    openssl('req', '-x509', ...newKey, '-days', '9', '-keyout', `${name}.key`, '-out', `${name}.pem`, '-subj', `/CN=${subject}`)
  const signed = (name: string, issuer: string, subject: string, extensions: string) => {
    openssl('req', '-new', ...NEW_KEY, '-keyout', `${name}.key`, '-out', `${name}.csr`, '-subj', `/CN=${subject}`)
    writeFileSync(at(`${name}.ext`), extensions)
    const by = ['-CA', `${issuer}.pem`, '-CAkey', `${issuer}.key`, '-CAcreateserial']
    openssl('x509', '-req', '-in', `${name}.csr`, ...by, '-days', '9', '-extfile', `${name}.ext`, '-out', `${name}.pem`)
  }
  selfSigned('root', 'Root')
  selfSigned('other', 'Other')
  selfSigned('rsa', 'Rsa', ['-newkey', 'rsa:2048', '-nodes'])
  selfSigned('client', 'a-client')
  signed('middle', 'root', 'Middle', 'basicConstraints=critical,CA:TRUE\nkeyUsage=keyCertSign,cRLSign\n')
  signed('leaf', 'middle', 'up.test', 'subjectAltName=DNS:up.test\n')
  openssl('ec', '-in', 'client.key', '-aes128', '-passout', 'pass:secret', '-out', 'locked.key')
  writeFileSync(at('passwords'), 'wrong\nsecret\n')
  const serial = openssl('x509', '-in', 'leaf.pem', '-noout', '-serial').trim().split('=')[1] ?? ''
  const list = (issuer: string, index: string) => {
    writeFileSync(at('index'), index)
    writeFileSync(at('crl.conf'), `[ca]\ndefault_ca=a\n[a]\ndatabase=${at('index')}\ndefault_md=sha256\ndefault_crl_days=9\n`)
    return openssl('ca', '-gencrl', '-config', 'crl.conf', '-cert', `${issuer}.pem`, '-keyfile', `${issuer}.key`)
  }
  writeFileSync(at('clean.crl'), list('root', '') + list('middle', ''))
  writeFileSync(
    at('revoked.crl'),
    list('root', '') + list('middle', `R\t360101000000Z\t260101000000Z\t${serial}\tunknown\t/CN=up.test\n`),
  )
}
