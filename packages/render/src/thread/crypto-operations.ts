import { createCipheriv, createDecipheriv, createHmac, hash } from 'node:crypto'
import { RenderError } from '../errors/errors.ts'

type Fields = Readonly<Record<string, unknown>>

const hashes: Readonly<Record<string, string>> = {
  'SHA-1': 'sha1',
  'SHA-256': 'sha256',
  'SHA-384': 'sha384',
  'SHA-512': 'sha512',
}

function text(fields: Fields, name: string): string {
  const value = fields[name]
  if (typeof value !== 'string') throw new RenderError('RENDER_FAILED', `${name} is missing`)
  return value
}

function bytesOf(fields: Fields, name: string): Buffer {
  return Buffer.from(text(fields, name), 'base64')
}

function hashName(name: string): string {
  const known = hashes[name.toUpperCase()]
  if (known === undefined) throw new RenderError('RENDER_FAILED', `unsupported hash ${name}`)
  return known
}

function hmac(fields: Fields, data: Uint8Array): Uint8Array {
  return createHmac(hashName(text(fields, 'hash')), bytesOf(fields, 'key'))
    .update(data)
    .digest()
}

function aesGcm(fields: Fields, data: Uint8Array): Uint8Array {
  const key = bytesOf(fields, 'key')
  const iv = bytesOf(fields, 'iv')
  const authTagLength = Number(fields['tagLength'] ?? 128) / 8
  const name = `aes-${key.byteLength * 8}-gcm` as 'aes-128-gcm'
  const additional = fields['additionalData'] === undefined ? Buffer.alloc(0) : bytesOf(fields, 'additionalData')
  if (text(fields, 'direction') === 'encrypt') {
    const cipher = createCipheriv(name, key, iv, { authTagLength }).setAAD(additional)
    return Buffer.concat([cipher.update(data), cipher.final(), cipher.getAuthTag()])
  }
  const tagAt = data.byteLength - authTagLength
  if (tagAt < 0) throw new RenderError('RENDER_FAILED', 'the data is shorter than its tag')
  const decipher = createDecipheriv(name, key, iv, { authTagLength }).setAAD(additional).setAuthTag(data.subarray(tagAt))
  return Buffer.concat([decipher.update(data.subarray(0, tagAt)), decipher.final()])
}

/**
 * Runs a cryptographic operation that a site asks for (Web Cryptography API, on Node's own).
 * @throws when the input does not fit the algorithm or does not authenticate
 */
export function cryptoOperation(operation: 'digest' | 'hmac' | 'aes-gcm', json: string, data: Uint8Array): Uint8Array {
  const fields = JSON.parse(json) as Fields
  switch (operation) {
    case 'digest':
      return hash(hashName(text(fields, 'algorithm')), data, 'buffer')
    case 'hmac':
      return hmac(fields, data)
    case 'aes-gcm':
      return aesGcm(fields, data)
  }
}
