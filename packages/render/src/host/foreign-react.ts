import { createRequire } from 'node:module'
import { dirname, join, relative } from 'node:path'
import { readRegularFile } from '../regular-file.ts'

const MAX_MANIFEST_BYTES = 1024 * 1024
const version = /^\d[\w.+-]{0,63}$/

function versionIn(manifest: string): string | undefined {
  try {
    const found = (JSON.parse(manifest) as { readonly version?: unknown } | null)?.version
    return typeof found === 'string' && version.test(found) ? found : undefined
  } catch {
    // A package that cannot be read is not used either way.
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
export async function foreignReact(root: string): Promise<string | undefined> {
  for (let dir = root; ; dir = dirname(dir)) {
    const manifest = await readRegularFile(join(dir, 'node_modules/react/package.json'), MAX_MANIFEST_BYTES)
    const found = manifest === undefined ? undefined : versionIn(manifest)
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
