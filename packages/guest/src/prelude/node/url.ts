import { URL } from '../fetch/url.ts'

/** Returns the path that a `file:` URL names. Throws TypeError for other schemes. */
export function fileURLToPath(url: string | URL): string {
  const parsed = typeof url === 'string' ? new URL(url) : url
  if (parsed.protocol !== 'file:') throw new TypeError('The URL must be of scheme file')
  return decodeURIComponent(parsed.pathname)
}

/** Returns the `file:` URL of an absolute path. */
export function pathToFileURL(path: string): URL {
  return new URL(`file://${encodeURI(path).replace(/[?#]/g, encodeURIComponent)}`)
}

/** Writes a URL as text, leaving parts away on demand. */
export function format(url: URL, options: { fragment?: boolean; search?: boolean; auth?: boolean } = {}): string {
  const copy = new URL(url)
  if (options.fragment === false) copy.hash = ''
  if (options.search === false) copy.search = ''
  if (options.auth === false) {
    copy.username = ''
    copy.password = ''
  }
  return copy.href
}
