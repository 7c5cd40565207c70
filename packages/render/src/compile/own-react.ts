import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { GuestSettings } from '../contract/isolate.ts'
import type { SiteResolver } from './site-resolver.ts'

function versionIn(file: string): string | undefined {
  try {
    const manifest = JSON.parse(readFileSync(file, 'utf8')) as { readonly version?: string }
    return manifest.version
  } catch {
    // Absent or unreadable: the site has no React of its own there.
    return undefined
  }
}

function bundledVersion(): string | undefined {
  return versionIn(createRequire(import.meta.url).resolve('react/package.json'))
}

/**
 * Finds the site's own React, in `node_modules` of its directory. A copy of the very version that comes with the server is
 * not loaded: the one in the snapshot is the same and already there.
 */
export function ownReact(resolver: SiteResolver): GuestSettings['react'] {
  const version = versionIn(join(resolver.root, 'node_modules/react/package.json'))
  if (version === undefined || version === bundledVersion()) return undefined
  const file = (specifier: string) => resolver.resolvePackage(specifier)
  const react = file('react')
  const jsxRuntime = file('react/jsx-runtime')
  // The build for edge runtimes first: that for workers cuts its work up with a channel for messages that all requests share.
  const server = file('react-dom/server.edge') ?? file('react-dom/server')
  return react === undefined || jsxRuntime === undefined || server === undefined ? undefined : { react, jsxRuntime, server }
}
