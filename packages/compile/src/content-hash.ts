import { hash } from 'node:crypto'
import { createRequire } from 'node:module'

/** SHA-256 of a text or of bytes, in hex. */
export function contentHash(content: string | Uint8Array): string {
  return hash('sha256', content, 'hex')
}

/** Hash of the files that are part of a compiled module, of the hashes of their content; "" without any. */
export function watchHashOf(hashes: readonly string[]): string {
  return hashes.length === 0 ? '' : contentHash(hashes.join())
}

/** Raised when the output of this compiler changes for the same source, or the format of the files that keep it. */
const OWN_VERSION = 5

function versionOf(name: string): string {
  const manifest: unknown = createRequire(import.meta.url)(`${name}/package.json`)
  return typeof manifest === 'object' && manifest !== null && 'version' in manifest ? String(manifest.version) : ''
}

/** Everything besides source and mode that decides what compiled code and bytecode look like. */
export const COMPILER_VERSION = [
  OWN_VERSION,
  ...['oxc-transform', 'oxc-parser', 'esbuild'].map((name) => `${name}@${versionOf(name)}`),
  `v8@${process.versions.v8}`,
  process.arch,
].join(' ')
