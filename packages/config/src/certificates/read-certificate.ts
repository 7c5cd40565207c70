import { createHash, createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import { stat } from 'node:fs/promises'
import { codeOf, messageOf, readBounded, whyUnreadable } from '@svc/core'

/** Absolute paths of a certificate and its key. */
export interface CertificateFiles {
  readonly cert: string
  readonly key: string
  /** File with passphrases of the key, one in each line. Undefined: the key must not be encrypted. */
  readonly passwords?: string | undefined
}

/** One of the two files. */
export type CertificateFile = 'cert' | 'key'

/** Names a pair of files. */
export function certificateKey({ cert, key }: CertificateFiles): string {
  return `${cert}\n${key}`
}

/** A certificate that was read and belongs to its key. */
export interface LoadedCertificate extends CertificateFiles {
  /** Digest of chain and key: the same id is the same certificate. */
  readonly id: string
  /** Chain in PEM form, the certificate of the key first. */
  readonly chainPem: string
  /** Key in PEM form. A secret. */
  readonly keyPem: string
  /** Host names it is for: exact ones and `*.suffix`, lower case. */
  readonly names: readonly string[]
  /** Milliseconds since the epoch. */
  readonly notBefore: number
  readonly notAfter: number
  /** True if each certificate of the chain was issued by the next one. */
  readonly isChainInOrder: boolean
}

/** The reason why a certificate is unusable. */
export interface CertificateFault {
  /** Which of the two files is to blame. */
  readonly file: CertificateFile
  readonly message: string
  readonly hint?: string
  /** There is no such file. */
  readonly isMissing?: boolean
}

const PEM_CERTIFICATE = /-----BEGIN (?:TRUSTED |X509 )?CERTIFICATE-----[\s\S]+?-----END (?:TRUSTED |X509 )?CERTIFICATE-----/g
const ENCRYPTED_KEY = /-----BEGIN ENCRYPTED PRIVATE KEY-----|^Proc-Type: 4,ENCRYPTED/m
const ID_CHARS = 32
/** No client shakes hands with a shorter key of RSA. */
const MIN_RSA_BITS = 1024
/** Other keys of elliptic curves than those of TLS are taken by one engine and not by the other, and by clients not at all. */
const CURVES = new Set(['prime256v1', 'secp384r1', 'secp521r1'])
const KEY_TYPES = new Set<string>(['rsa', 'rsa-pss', 'ec', 'ed25519'])
/** A chain with its key has some kilobytes. */
const MAX_FILE_BYTES = 1024 * 1024
/** Each wrong passphrase costs a derivation of a key. */
const MAX_PASSWORDS = 64
const MAX_PASSWORD_BYTES = 64 * 1024

function isFault(value: object): value is CertificateFault {
  return 'file' in value
}

async function readText(files: CertificateFiles, file: CertificateFile): Promise<string | CertificateFault> {
  try {
    const info = await stat(files[file])
    if (!info.isFile()) return { file, message: `${files[file]} is not a file` }
    if (info.size > MAX_FILE_BYTES) return { file, message: `${files[file]} is too large: ${info.size} bytes` }
    // It may have been replaced since, by a pipe too.
    const read = await readBounded(files[file], MAX_FILE_BYTES)
    if (read.ok) return read.bytes.toString('latin1')
    return { file, message: `cannot read ${files[file]}`, hint: read.why, isMissing: read.code === 'ENOENT' }
  } catch (error) {
    return { file, message: `cannot read ${files[file]}`, hint: whyUnreadable(error), isMissing: codeOf(error) === 'ENOENT' }
  }
}

/** Contents of the two files. */
const CONTENTS = {
  cert: { what: 'certificate', mark: /^-----BEGIN (?:\w+ )*CERTIFICATE-----/m },
  key: { what: 'private key', mark: /^-----BEGIN (?:\w+ )*PRIVATE KEY-----/m },
} as const

function parse<T>(files: CertificateFiles, file: CertificateFile, text: string, act: (text: string) => T): T | CertificateFault {
  try {
    return act(text)
  } catch (error) {
    const { what, mark } = CONTENTS[file]
    const other = CONTENTS[file === 'cert' ? 'key' : 'cert']
    const isSwapped = other.mark.test(text) && !mark.test(text)
    const hint = isSwapped ? `it contains a ${other.what}: are the two files swapped?` : messageOf(error)
    return { file, message: `${files[file]} is not a ${what} in PEM form`, hint }
  }
}

/** Certificates of a file in their order. At least one. @throws the error of OpenSSL */
function chainOf(pem: string): [X509Certificate, ...X509Certificate[]] {
  const [first = pem, ...others] = pem.match(PEM_CERTIFICATE) ?? []
  return [new X509Certificate(first), ...others.map((text) => new X509Certificate(text))]
}

/** Host names of a certificate; the common name counts only where there is no list of names (RFC 6125 section 6.4.4). */
function namesOf(certificate: X509Certificate): string[] {
  const listed = certificate.subjectAltName?.match(/DNS:[^,\s"]+/g)?.map((text) => text.slice('DNS:'.length)) ?? []
  const common = /^CN=(.+)$/m.exec(certificate.subject)?.[1]
  const names = listed.length > 0 || common === undefined ? listed : [common]
  return [...new Set(names.map((name) => name.toLowerCase().replace(/\.$/, '')))]
}

function mismatch(files: CertificateFiles, chain: readonly X509Certificate[], key: KeyObject): CertificateFault {
  const place = chain.findIndex((certificate) => certificate.checkPrivateKey(key))
  const hint = place === -1 ? {} : { hint: `certificate ${place + 1} of the file belongs to this key: it must come first` }
  return { file: 'key', message: `${files.key} does not match the certificate ${files.cert}`, ...hint }
}

async function keyOf(files: CertificateFiles, text: string): Promise<KeyObject | CertificateFault> {
  if (!ENCRYPTED_KEY.test(text)) return parse(files, 'key', text, createPrivateKey)
  if (files.passwords !== undefined) return decryptedKey(files, files.passwords, text)
  const hint = `the server cannot ask for its passphrase; decrypt it with: openssl pkey -in ${files.key} -out <a file that only the server may read>`
  return { file: 'key', message: `${files.key} is encrypted`, hint }
}

/** As in nginx, the first passphrase that fits counts. */
async function decryptedKey(files: CertificateFiles, passwords: string, text: string): Promise<KeyObject | CertificateFault> {
  const read = await readBounded(passwords, MAX_PASSWORD_BYTES)
  if (!read.ok) return { file: 'key', message: `cannot read ${passwords}`, hint: read.why }
  for (const passphrase of read.bytes.toString('utf8').split(/\r?\n/).slice(0, MAX_PASSWORDS)) {
    try {
      return createPrivateKey({ key: text, passphrase })
    } catch {
      // Another line may have the right one.
    }
  }
  return { file: 'key', message: `${files.key} is encrypted, and no line of ${passwords} is its passphrase` }
}

/** Returns the reason why a key cannot be used in a handshake. */
function flawOf({ asymmetricKeyType: type, asymmetricKeyDetails: details = {} }: KeyObject): string | undefined {
  const { modulusLength: bits = MIN_RSA_BITS, namedCurve } = details
  if (type === undefined || !KEY_TYPES.has(type)) return `a key of type ${type}`
  if (bits < MIN_RSA_BITS) return `a key of ${bits} bits`
  return namedCurve === undefined || CURVES.has(namedCurve) ? undefined : `a key of the curve ${namedCurve}`
}

/** Reads a certificate and its key and checks that they belong together. */
export async function readCertificate(files: CertificateFiles): Promise<LoadedCertificate | CertificateFault[]> {
  const [certText, keyText] = await Promise.all([readText(files, 'cert'), readText(files, 'key')])
  const chain = typeof certText === 'string' ? parse(files, 'cert', certText, chainOf) : certText
  const key = typeof keyText === 'string' ? await keyOf(files, keyText) : keyText
  const faults = [chain, key].filter(isFault)
  if (isFault(chain) || isFault(key)) return faults
  const [first] = chain
  if (!first.checkPrivateKey(key)) return [mismatch(files, chain, key)]
  const flaw = flawOf(key)
  if (flaw !== undefined) return [{ file: 'key', message: `${files.key} is ${flaw}: TLS handshakes with it fail` }]
  const chainPem = chain.map((certificate) => certificate.toString()).join('')
  const keyPem = key.export({ type: 'pkcs8', format: 'pem' }).toString()
  return {
    ...files,
    id: createHash('sha256').update(chainPem).update(keyPem).digest('hex').slice(0, ID_CHARS),
    chainPem,
    keyPem,
    names: namesOf(first),
    notBefore: Date.parse(first.validFrom),
    notAfter: Date.parse(first.validTo),
    isChainInOrder: chain.every((certificate, at) => {
      const issuer = chain[at + 1]
      return issuer === undefined || certificate.checkIssued(issuer)
    }),
  }
}
