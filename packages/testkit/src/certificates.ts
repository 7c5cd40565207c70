import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Content of a certificate. */
export interface CertificateWish {
  readonly commonName: string
  readonly hosts: readonly string[]
  /** @default thirty days from now on */
  readonly validity?: { readonly from: Date; readonly to: Date }
}

/** PEM files. */
export interface CertificatePaths {
  readonly cert: string
  readonly key: string
}

const NEW_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']

function openssl(...args: readonly string[]): void {
  execFileSync('openssl', args, { stdio: ['ignore', 'ignore', 'ignore'] })
}

function altNames({ hosts }: CertificateWish): string {
  return `subjectAltName=${hosts.map((host) => `DNS:${host}`).join(',')}`
}

function compactTime(date: Date): string {
  return `${date.toISOString().slice(0, 19).replace(/[-T:]/g, '')}Z`
}

/** The one command of OpenSSL 3.0 that lets a certificate begin and end at any time. */
function signBetween(dir: string, paths: CertificatePaths, wish: CertificateWish, from: Date, to: Date): void {
  const place = join(dir, `authority-${wish.commonName}`)
  mkdirSync(place)
  const [request, settings] = [join(place, 'request.pem'), join(place, 'settings')]
  const authority = `[ca]\ndefault_ca=a\n[a]\ndatabase=${place}/index\nserial=${place}/serial\nnew_certs_dir=${place}\ndefault_md=sha256\npolicy=p\nx509_extensions=e\n[p]\ncommonName=supplied\n[e]\n${altNames(wish)}\n`
  writeFileSync(settings, authority)
  writeFileSync(join(place, 'index'), '')
  writeFileSync(join(place, 'serial'), '01')
  openssl('req', '-new', ...NEW_KEY, '-keyout', paths.key, '-out', request, '-subj', `/CN=${wish.commonName}`)
  const times = ['-startdate', compactTime(from), '-enddate', compactTime(to)]
  const files = ['-config', settings, '-keyfile', paths.key, '-in', request, '-out', paths.cert]
  openssl('ca', '-batch', '-notext', '-selfsign', ...files, ...times)
  rmSync(place, { recursive: true })
}

/** Writes a self-signed certificate and its key as `<name>.crt` and `<name>.key`, in place of what is there. */
export function writeCertificate(dir: string, name: string, wish: CertificateWish): CertificatePaths {
  const paths = { cert: join(dir, `${name}.crt`), key: join(dir, `${name}.key`) }
  const { validity } = wish
  if (validity !== undefined) signBetween(dir, paths, wish, validity.from, validity.to)
  else {
    const subject = ['-subj', `/CN=${wish.commonName}`, '-addext', altNames(wish)]
    openssl('req', '-x509', ...NEW_KEY, '-days', '30', '-keyout', paths.key, '-out', paths.cert, ...subject)
  }
  return paths
}
