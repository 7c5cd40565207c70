import { host } from '../../host/host.ts'
import { DOMException } from '../events/dom-exception.ts'

/** Bytes that `getRandomValues` gives at most (Web Crypto, section 10.1.1). */
const QUOTA_BYTES = 65_536

/** Returns bytes of the host's cryptographic source. */
export function randomBytes(count: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array(host().randomBytes(count))
}

/** Fills an integer typed array with random values. Throws TypeMismatchError or QuotaExceededError. */
export function getRandomValues<T extends ArrayBufferView>(array: T): T {
  const isInteger =
    ArrayBuffer.isView(array) && !(array instanceof Float32Array || array instanceof Float64Array || array instanceof DataView)
  if (!isInteger) throw new DOMException('The value must be an integer typed array', 'TypeMismatchError')
  if (array.byteLength > QUOTA_BYTES)
    throw new DOMException(`More than ${QUOTA_BYTES} bytes were asked for`, 'QuotaExceededError')
  new Uint8Array(array.buffer, array.byteOffset, array.byteLength).set(randomBytes(array.byteLength))
  return array
}

/** Returns a version 4 UUID (RFC 9562). */
export function randomUUID(): string {
  const bytes = randomBytes(16)
  bytes[6] = ((bytes[6] as number) & 0x0f) | 0x40
  bytes[8] = ((bytes[8] as number) & 0x3f) | 0x80
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}
