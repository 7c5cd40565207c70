export type KeyUsage = 'sign' | 'verify' | 'encrypt' | 'decrypt'
export type HashName = 'SHA-1' | 'SHA-256' | 'SHA-384' | 'SHA-512'

export type KeyAlgorithm =
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
