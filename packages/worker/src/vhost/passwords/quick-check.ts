import { createHash, timingSafeEqual } from 'node:crypto'

const SHA1_BYTES = 20

/**
 * Checks a password against a stored form that costs next to nothing: `{PLAIN}`, `{SHA}` and `{SSHA}`. Undefined: it is another
 * form. In constant time.
 */
export function quickCheck(password: Buffer, stored: string): boolean | undefined {
  if (stored.startsWith('{PLAIN}')) return areEqual(digest(password), digest(Buffer.from(stored.slice(7), 'latin1')))
  if (stored.startsWith('{SHA}')) return areEqual(digest(password), Buffer.from(stored.slice(5), 'base64'))
  if (!stored.startsWith('{SSHA}')) return undefined
  const salted = Buffer.from(stored.slice(6), 'base64')
  const salt = salted.subarray(SHA1_BYTES)
  return areEqual(digest(Buffer.concat([password, salt])), salted.subarray(0, SHA1_BYTES))
}

function digest(bytes: Buffer): Buffer {
  return createHash('sha1').update(bytes).digest()
}

function areEqual(a: Buffer, b: Buffer): boolean {
  return a.byteLength === b.byteLength && timingSafeEqual(a, b)
}
