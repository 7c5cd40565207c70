import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Cleanup, tempDir } from '@svc/testkit'

/** When a certificate begins and ends. */
export interface Validity {
  readonly from: Date
  readonly to: Date
}

const DAY_MS = 24 * 3_600_000

function openssl(...args: readonly string[]): string {
  return execFileSync('openssl', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
}

function compactTime(date: Date): string {
  return `${date.toISOString().slice(0, 19).replace(/[-T:]/g, '')}Z`
}

/** A certificate authority of OpenSSL, in a directory of its own. */
export class Authority {
  readonly #dir: string
  #count = 0

  constructor(t: Cleanup) {
    this.#dir = tempDir(t, 'authority')
    const dir = this.#dir
    const settings = `[ca]\ndefault_ca=a\n[a]\ndatabase=${dir}/index\nserial=${dir}/serial\nnew_certs_dir=${dir}\ndefault_md=sha256\npolicy=p\ncopy_extensions=copy\nunique_subject=no\n[p]\ncommonName=optional\n`
    writeFileSync(join(dir, 'settings'), settings)
    writeFileSync(join(dir, 'index'), '')
    writeFileSync(join(dir, 'serial'), '1000')
    const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', join(dir, 'root.key')]
    openssl('req', '-x509', ...key, '-out', join(dir, 'root.crt'), '-subj', '/CN=Test Authority', '-days', '3650')
  }

  /** File of its own certificate: who knows it trusts all that it issues. */
  get rootFile(): string {
    return join(this.#dir, 'root.crt')
  }

  /** A certificate for an address of this machine, with its key, that ends in a day. PEM. */
  certify(address: string): { readonly cert: string; readonly key: string } {
    const [request, key] = [join(this.#dir, 'own.der'), join(this.#dir, 'own.key')]
    const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', key]
    const name = ['-subj', '/CN=authority', '-addext', `subjectAltName=IP:${address}`]
    openssl('req', '-new', ...kind, ...name, '-outform', 'DER', '-out', request)
    const now = Date.now()
    const cert = this.sign(readFileSync(request), { from: new Date(now - DAY_MS), to: new Date(now + DAY_MS) })
    return { cert, key: readFileSync(key, 'utf8') }
  }

  /** Host names that a request (DER) asks for. Throws when its signature is wrong. */
  hostsOf(request: Buffer): string[] {
    const file = join(this.#dir, 'request.der')
    writeFileSync(file, request)
    const text = openssl('req', '-inform', 'DER', '-in', file, '-verify', '-noout', '-text')
    return [...text.matchAll(/DNS:([^,\s]+)/g)].map(([, name = '']) => name)
  }

  /** Issues a certificate. @returns the chain, PEM */
  sign(request: Buffer, { from, to }: Validity): string {
    const dir = this.#dir
    const [file, out] = [join(dir, 'request.der'), join(dir, `issued-${++this.#count}.pem`)]
    writeFileSync(file, request)
    const authority = ['-config', join(dir, 'settings'), '-cert', join(dir, 'root.crt'), '-keyfile', join(dir, 'root.key')]
    const times = ['-startdate', compactTime(from), '-enddate', compactTime(to), '-subj', `/CN=issued ${this.#count}`]
    openssl('ca', '-batch', '-notext', ...authority, ...times, '-inform', 'DER', '-in', file, '-out', out)
    return openssl('x509', '-in', out) + openssl('x509', '-in', join(dir, 'root.crt'))
  }
}
