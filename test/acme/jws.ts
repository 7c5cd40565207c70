import { createHash, createPublicKey, type JsonWebKey, verify } from 'node:crypto'

/** A signed request (RFC 7515 section 7.2.2), read. */
export interface SignedRequest {
  readonly header: {
    readonly alg: string
    readonly nonce: string
    readonly url: string
    readonly jwk?: JsonWebKey
    readonly kid?: string
  }
  /** undefined: a read in the form of a POST. */
  readonly payload: Readonly<Record<string, unknown>> | undefined
  /** Returns true if the key has made the signature. */
  isBy(key: JsonWebKey): boolean
}

function decode(text: string): string {
  return Buffer.from(text, 'base64url').toString()
}

/** Reads the body of a signed request. */
export function readSigned(body: string): SignedRequest {
  const { protected: head, payload, signature } = JSON.parse(body) as Record<'protected' | 'payload' | 'signature', string>
  return {
    header: JSON.parse(decode(head)),
    payload: payload === '' ? undefined : JSON.parse(decode(payload)),
    isBy(key) {
      const publicKey = { key: createPublicKey({ key, format: 'jwk' }), dsaEncoding: 'ieee-p1363' } as const
      return verify('sha256', Buffer.from(`${head}.${payload}`), publicKey, Buffer.from(signature, 'base64url'))
    },
  }
}

/** Digest of a key (RFC 7638). */
export function thumbprint({ kty, crv, x, y, e, n }: JsonWebKey): string {
  const members = kty === 'EC' ? { crv, kty, x, y } : { e, kty, n }
  return createHash('sha256').update(JSON.stringify(members)).digest('base64url')
}
