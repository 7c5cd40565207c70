import { hash } from 'node:crypto'

/** SHA-256 of a text or of bytes, in hex. */
export function contentHash(content: string | Uint8Array): string {
  return hash('sha256', content, 'hex')
}
