import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto'
import type { LoadedCertificate } from '@svc/config'

const SEQUENCE = 0x30
const SET = 0x31
const INTEGER = 0x02
const BIT_STRING = 0x03
const OBJECT_ID = 0x06
const UTF8_STRING = 0x0c
const UTC_TIME = 0x17
const VERSION = 0xa0
const ID_CHARS = 32
const YEARS = 10
const LINE_CHARS = 64

/** One value of ASN.1 in its distinguished encoding (ITU-T X.690). */
function der(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts)
  const { length } = content
  if (length < 0x80) return Buffer.concat([Buffer.of(tag, length), content])
  // The shortest form: BoringSSL rejects any other.
  if (length < 0x100) return Buffer.concat([Buffer.of(tag, 0x81, length), content])
  return Buffer.concat([Buffer.of(tag, 0x82, length >> 8, length & 0xff), content])
}

/** ecdsa-with-SHA256 (RFC 5758 section 3.2). */
const signatureAlgorithm = der(SEQUENCE, der(OBJECT_ID, Buffer.from('2a8648ce3d040302', 'hex')))

function nameOf(text: string): Buffer {
  const commonName = der(OBJECT_ID, Buffer.from('550403', 'hex'))
  return der(SEQUENCE, der(SET, der(SEQUENCE, commonName, der(UTF8_STRING, Buffer.from(text)))))
}

/** Two digits for the year, as required until 2049 (RFC 5280 section 4.1.2.5). */
function timeOf(date: Date): Buffer {
  const text = `${date.toISOString().slice(2, 19).replace(/[-T:]/g, '')}Z`
  return der(UTC_TIME, Buffer.from(text))
}

function pem(what: string, bytes: Buffer): string {
  const lines = bytes.toString('base64').match(new RegExp(`.{1,${LINE_CHARS}}`, 'g')) ?? []
  return `-----BEGIN ${what}-----\n${lines.join('\n')}\n-----END ${what}-----\n`
}

/**
 * Makes a self-signed certificate for no host, which clients get while there is no other. `now` in milliseconds since
 * the epoch.
 */
export function selfSigned(now: number): LoadedCertificate {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
  const [notBefore, notAfter] = [new Date(now), new Date(now)]
  notAfter.setUTCFullYear(notAfter.getUTCFullYear() + YEARS)
  const name = nameOf('no certificate yet')
  const serial = randomBytes(16)
  // Positive, and without a leading zero byte.
  serial[0] = ((serial[0] ?? 0) & 0x3f) | 0x40
  const contents = der(
    SEQUENCE,
    der(VERSION, der(INTEGER, Buffer.of(2))),
    der(INTEGER, serial),
    signatureAlgorithm,
    name,
    der(SEQUENCE, timeOf(notBefore), timeOf(notAfter)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
  )
  const signature = der(BIT_STRING, Buffer.of(0), sign('sha256', contents, privateKey))
  const chainPem = pem('CERTIFICATE', der(SEQUENCE, contents, signatureAlgorithm, signature))
  const keyPem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  return {
    cert: '',
    key: '',
    id: createHash('sha256').update(chainPem).update(keyPem).digest('hex').slice(0, ID_CHARS),
    chainPem,
    keyPem,
    names: [],
    notBefore: notBefore.getTime(),
    notAfter: notAfter.getTime(),
    isChainInOrder: true,
  }
}
