import { loadRegularFile, replaceFile } from '@svc/core'

/** Certificates and keys have a few KB. */
const MAX_BYTES = 1024 * 1024

/** Writes a file that survives a loss of power. Keeps an existing private file with the same content. */
export async function writePrivate(path: string, text: string): Promise<void> {
  if ((await readOwn(path)) !== text) await replaceFile(path, text, true)
}

/** Returns the text of a file that only this user can access. Undefined: no usable file. */
async function readOwn(path: string): Promise<string | undefined> {
  try {
    return (await loadRegularFile(path, { maxBytes: MAX_BYTES, isPrivate: true })).bytes.toString('utf8')
  } catch {
    // It is written again.
    return undefined
  }
}
