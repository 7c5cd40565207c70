const IMMUTABLE = 'public, max-age=31536000, immutable'
const REVALIDATED = 'public, max-age=0, must-revalidate'

/** `name.<hash>.ext` or `name-<hash>.ext` with 8 to 64 lower-case hexadecimal digits. */
const hexHash = /[.-]([0-9a-f]{8,64})\.[a-z0-9]+(?:\.map)?$/
/** `name.<hash>.ext` with 8 to 64 characters of base64url. */
const base64Hash = /\.([A-Za-z0-9_-]{8,64})\.[a-z0-9]+(?:\.map)?$/

/**
 * Cache-Control of a file by its name: a year for names that carry a hash of their content, else to be asked for each time.
 * So that no word and no date passes for a hash, a hexadecimal one must hold a digit and a letter (`app.0a1b2c3d.js`,
 * `app-0a1b2c3d.js`), a base64url one a digit, a capital and a small letter (`app.B3kd_9Zq.js`).
 */
export function cacheControlOf(fileName: string): string {
  return isHashed(fileName) ? IMMUTABLE : REVALIDATED
}

function isHashed(fileName: string): boolean {
  const hex = hexHash.exec(fileName)?.[1]
  if (hex !== undefined && /\d/.test(hex) && /[a-f]/.test(hex)) return true
  const text = base64Hash.exec(fileName)?.[1]
  return text !== undefined && /\d/.test(text) && /[A-Z]/.test(text) && /[a-z]/.test(text)
}
