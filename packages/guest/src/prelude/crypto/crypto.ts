import { toBase64, toBase64url } from '@exodus/bytes/base64.js'
import { host } from '../../host/host.ts'
import { callHostOnce } from '../../host/host-calls.ts'
import { decodeBase64Loose } from '../encoding/base64.ts'
import { bytesOf, exactBuffer } from '../encoding/bytes.ts'
import { DOMException } from '../events/dom-exception.ts'

/** Bytes that `getRandomValues` gives at most (Web Crypto, section 10.1.1). */
const QUOTA_BYTES = 65_536

/** Returns bytes of the host's cryptographic source. */
function randomBytes(count: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array(host().randomBytes(count))
}

/** Fills an integer typed array with random values. Throws TypeMismatchError or QuotaExceededError. */
function getRandomValues<T extends ArrayBufferView>(array: T): T {
  const isInteger =
    ArrayBuffer.isView(array) && !(array instanceof Float32Array || array instanceof Float64Array || array instanceof DataView)
  if (!isInteger) throw new DOMException('The value must be an integer typed array', 'TypeMismatchError')
  if (array.byteLength > QUOTA_BYTES)
    throw new DOMException(`More than ${QUOTA_BYTES} bytes were asked for`, 'QuotaExceededError')
  new Uint8Array(array.buffer, array.byteOffset, array.byteLength).set(randomBytes(array.byteLength))
  return array
}

/** Returns a version 4 UUID (RFC 9562). */
function randomUUID(): string {
  const bytes = randomBytes(16)
  bytes[6] = ((bytes[6] as number) & 0x0f) | 0x40
  bytes[8] = ((bytes[8] as number) & 0x3f) | 0x80
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}

type KeyUsage = 'sign' | 'verify' | 'encrypt' | 'decrypt'
type HashName = 'SHA-1' | 'SHA-256' | 'SHA-384' | 'SHA-512'

type KeyAlgorithm =
  | { readonly name: 'HMAC'; readonly hash: { readonly name: HashName }; readonly length: number }
  | { readonly name: 'AES-GCM'; readonly length: number }

const construction = Symbol('construction')

/** Web Crypto `CryptoKey` with a secret of HMAC or AES-GCM. */
export class CryptoKey {
  readonly type = 'secret'
  readonly algorithm: KeyAlgorithm
  readonly extractable: boolean
  readonly usages: readonly KeyUsage[]
  readonly #secret: Uint8Array<ArrayBuffer>

  constructor(
    ...given: [
      key?: symbol,
      algorithm?: KeyAlgorithm,
      extractable?: boolean,
      usages?: readonly KeyUsage[],
      secret?: Uint8Array<ArrayBuffer>,
    ]
  ) {
    const [key, algorithm, extractable, usages, secret] = given
    if (key !== construction || algorithm === undefined || secret === undefined) throw new TypeError('Illegal constructor')
    this.algorithm = algorithm
    this.extractable = extractable ?? false
    this.usages = usages ?? []
    this.#secret = secret
  }

  get [Symbol.toStringTag](): string {
    return 'CryptoKey'
  }

  /** For `SubtleCrypto` only. */
  static create(
    algorithm: KeyAlgorithm,
    extractable: boolean,
    usages: readonly KeyUsage[],
    secret: Uint8Array<ArrayBuffer>,
  ): CryptoKey {
    return new CryptoKey(construction, algorithm, extractable, usages, secret)
  }

  /** For `SubtleCrypto` only: the secret itself. */
  static secret(key: CryptoKey): Uint8Array<ArrayBuffer> {
    return key.#secret
  }
}

/** Block size in bits by hash: the length of a generated HMAC key. */
const blockBits: Readonly<Record<HashName, number>> = { 'SHA-1': 512, 'SHA-256': 512, 'SHA-384': 1024, 'SHA-512': 1024 }
const aesBits = [128, 192, 256]
const tagBits = [32, 64, 96, 104, 112, 120, 128]

interface JsonWebKey {
  kty?: string
  k?: string
  alg?: string
  ext?: boolean
  key_ops?: string[]
}

const notSupported = (what: string) => new DOMException(`${what} is not supported`, 'NotSupportedError')
const record = (value: unknown) => (typeof value === 'object' && value !== null ? value : {}) as Record<string, unknown>
const nameOf = (algorithm: unknown) => String(typeof algorithm === 'string' ? algorithm : record(algorithm).name).toUpperCase()

function hashName(value: unknown): HashName {
  const name = nameOf(value)
  if (!Object.hasOwn(blockBits, name)) throw notSupported(`The hash ${name}`)
  return name as HashName
}

function keyAlgorithm(given: unknown, secretBits: number | undefined): KeyAlgorithm {
  const name = nameOf(given)
  const { hash, length } = record(given)
  if (name === 'HMAC') {
    const digest = hashName(hash)
    return { name, hash: { name: digest }, length: secretBits ?? (length === undefined ? blockBits[digest] : Number(length)) }
  }
  if (name !== 'AES-GCM') throw notSupported(`The algorithm ${name}`)
  const bits = secretBits ?? Number(length)
  if (!aesBits.includes(bits)) {
    throw new DOMException('An AES key has 128, 192 or 256 bits', secretBits === undefined ? 'OperationError' : 'DataError')
  }
  return { name, length: bits }
}

function checkedUsages(algorithm: KeyAlgorithm, usages: Iterable<KeyUsage>): KeyUsage[] {
  const allowed = algorithm.name === 'HMAC' ? ['sign', 'verify'] : ['encrypt', 'decrypt', 'wrapKey', 'unwrapKey']
  const list = [...new Set(usages)]
  if (list.some((usage) => !allowed.includes(usage)))
    throw new DOMException(`Unsupported key usage for ${algorithm.name}`, 'SyntaxError')
  if (list.length === 0) throw new DOMException('Usages cannot be empty for a secret key', 'SyntaxError')
  return list
}

function requireUse(key: CryptoKey, usage: KeyUsage, algorithm: unknown): void {
  if (!(key instanceof CryptoKey)) throw new TypeError('The key must be a CryptoKey')
  if (key.algorithm.name !== nameOf(algorithm)) throw new DOMException('The key is of another algorithm', 'InvalidAccessError')
  if (!key.usages.includes(usage)) throw new DOMException(`The key may not be used for ${usage}`, 'InvalidAccessError')
}

const jwkAlgorithm = (algorithm: KeyAlgorithm) =>
  algorithm.name === 'HMAC' ? `HS${algorithm.hash.name.slice(4)}` : `A${algorithm.length}GCM`

async function hmac(key: CryptoKey, data: unknown): Promise<ArrayBuffer> {
  if (key.algorithm.name !== 'HMAC') throw new DOMException('The key is no HMAC key', 'InvalidAccessError')
  const argument = { hash: key.algorithm.hash.name, key: toBase64(CryptoKey.secret(key)) }
  return (await callHostOnce('hmac', argument, exactBuffer(bytesOf(data).slice()))).bytes
}

async function aesGcm(direction: 'encrypt' | 'decrypt', given: unknown, key: CryptoKey, data: unknown): Promise<ArrayBuffer> {
  requireUse(key, direction, given)
  const { iv, additionalData, tagLength = 128 } = record(given)
  if (!tagBits.includes(Number(tagLength))) throw new DOMException('Invalid tagLength', 'OperationError')
  const argument = {
    direction,
    key: toBase64(CryptoKey.secret(key)),
    iv: toBase64(bytesOf(iv)),
    ...(additionalData === undefined ? {} : { additionalData: toBase64(bytesOf(additionalData)) }),
    tagLength: Number(tagLength),
  }
  try {
    return (await callHostOnce('aes-gcm', argument, exactBuffer(bytesOf(data).slice()))).bytes
  } catch (cause) {
    throw new DOMException('The operation failed for an operation-specific reason', { name: 'OperationError', cause })
  }
}

/** Web Crypto `SubtleCrypto`: digests, HMAC and AES-GCM, computed by the host. Everything else: NotSupportedError. */
export class SubtleCrypto {
  async digest(algorithm: unknown, data: unknown): Promise<ArrayBuffer> {
    const name = hashName(algorithm)
    return (await callHostOnce('digest', { algorithm: name }, exactBuffer(bytesOf(data).slice()))).bytes
  }

  async sign(algorithm: unknown, key: CryptoKey, data: unknown): Promise<ArrayBuffer> {
    requireUse(key, 'sign', algorithm)
    return hmac(key, data)
  }

  async verify(...given: [algorithm: unknown, key: CryptoKey, signature: unknown, data: unknown]): Promise<boolean> {
    const [algorithm, key, signature, data] = given
    requireUse(key, 'verify', algorithm)
    // Computed and compared over all bytes, so that the time taken says nothing about where they differ.
    const expected = new Uint8Array(await hmac(key, data))
    const actual = bytesOf(signature)
    let difference = expected.length ^ actual.length
    for (let i = 0; i < expected.length; i++) difference |= (expected[i] as number) ^ (actual[i] ?? 0)
    return difference === 0
  }

  async encrypt(algorithm: unknown, key: CryptoKey, data: unknown): Promise<ArrayBuffer> {
    return aesGcm('encrypt', algorithm, key, data)
  }

  async decrypt(algorithm: unknown, key: CryptoKey, data: unknown): Promise<ArrayBuffer> {
    return aesGcm('decrypt', algorithm, key, data)
  }

  async generateKey(algorithm: unknown, extractable: boolean, usages: Iterable<KeyUsage>): Promise<CryptoKey> {
    const details = keyAlgorithm(algorithm, undefined)
    return CryptoKey.create(
      details,
      Boolean(extractable),
      checkedUsages(details, usages),
      randomBytes(Math.ceil(details.length / 8)),
    )
  }

  async importKey(
    ...given: [format: string, data: unknown, algorithm: unknown, extractable: boolean, usages: Iterable<KeyUsage>]
  ): Promise<CryptoKey> {
    const [format, data, algorithm, extractable, usages] = given
    let secret: Uint8Array<ArrayBuffer>
    if (format === 'raw' || format === 'raw-secret') secret = bytesOf(data).slice()
    else if (format === 'jwk') {
      const jwk = record(data) as JsonWebKey
      if (jwk.kty !== 'oct' || typeof jwk.k !== 'string') throw new DOMException('The JWK is no secret key', 'DataError')
      secret = decodeBase64Loose(jwk.k).slice()
    } else throw notSupported(`The key format ${format}`)
    if (secret.length === 0) throw new DOMException('The key is empty', 'DataError')
    const details = keyAlgorithm(algorithm, secret.length * 8)
    return CryptoKey.create(details, Boolean(extractable), checkedUsages(details, usages), secret)
  }

  async exportKey(format: string, key: CryptoKey): Promise<ArrayBuffer | JsonWebKey> {
    if (!(key instanceof CryptoKey)) throw new TypeError('The key must be a CryptoKey')
    if (!key.extractable) throw new DOMException('The key is not extractable', 'InvalidAccessError')
    const secret = CryptoKey.secret(key)
    if (format === 'raw' || format === 'raw-secret') return exactBuffer(secret.slice())
    if (format !== 'jwk') throw notSupported(`The key format ${format}`)
    return { kty: 'oct', k: toBase64url(secret), alg: jwkAlgorithm(key.algorithm), ext: true, key_ops: [...key.usages] }
  }

  get [Symbol.toStringTag](): string {
    return 'SubtleCrypto'
  }
}

/** The global `crypto`. */
export const crypto = Object.freeze({ getRandomValues, randomUUID, subtle: new SubtleCrypto() })
