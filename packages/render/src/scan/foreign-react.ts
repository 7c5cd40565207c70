import { realpathSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, relative } from 'node:path'
import { readRegularFileSync } from '@svc/core'

const MAX_MANIFEST_BYTES = 1024 * 1024
const version = /^\d[\w.+-]{0,63}$/

/** The version of the React in the `node_modules` of a directory. */
function versionIn(dir: string): string | undefined {
  try {
    const file = join(dir, 'node_modules/react/package.json')
    const manifest = readRegularFileSync(file, { maxBytes: MAX_MANIFEST_BYTES, within: realpathSync.native(dir) })
    const found = (JSON.parse(manifest.toString('utf8')) as { readonly version?: unknown } | null)?.version
    return typeof found === 'string' && version.test(found) ? found : undefined
  } catch {
    // There is none, or it cannot be read: it is not used either way.
    return undefined
  }
}

/** The React that comes with the server, and renders every site. */
function ownVersion(): string {
  return String(createRequire(import.meta.url)('react/package.json').version)
}

/**
 * Looks for a React of another version in the `node_modules` that a site's imports would find.
 * @returns the notice for the site's author; undefined: there is none, or it is of the server's version
 */
export function foreignReact(root: string): string | undefined {
  for (let dir = root; ; dir = dirname(dir)) {
    const found = versionIn(dir)
    if (found !== undefined) {
      const own = ownVersion()
      const place = relative(root, join(dir, 'node_modules/react'))
      return found === own
        ? undefined
        : `React ${found} in ${place} is not used: the site is rendered by the server's React ${own}`
    }
    if (dir === dirname(dir)) return undefined
  }
}
