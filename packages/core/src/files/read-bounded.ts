import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { codeOf, messageOf } from '../errors/app-error.ts'

/** The content of a file, or why it cannot be had. `code` is that of the system, where it comes from there. */
export type ReadBounded =
  | { readonly ok: true; readonly bytes: Buffer }
  | { readonly ok: false; readonly why: string; readonly code: string | undefined }

/** Does not wait for the writer of a pipe. */
const OPEN_FLAGS = constants.O_RDONLY | constants.O_NONBLOCK
const CHUNK_BYTES = 65_536

function refusal(why: string, code?: string): ReadBounded {
  return { ok: false, why, code }
}

async function readOpen(handle: FileHandle, maxBytes: number): Promise<ReadBounded> {
  const info = await handle.stat()
  if (info.isDirectory()) return refusal('is a directory, not a file', 'EISDIR')
  if (!info.isFile()) return refusal('is not a regular file')
  const chunks: Buffer[] = []
  let size = 0
  for (;;) {
    const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(CHUNK_BYTES), 0, CHUNK_BYTES)
    if (bytesRead === 0) return { ok: true, bytes: Buffer.concat(chunks) }
    size += bytesRead
    if (size > maxBytes) return refusal(`is larger than ${maxBytes} bytes`)
    chunks.push(buffer.subarray(0, bytesRead))
  }
}

/** Reads a regular file of at most `maxBytes`, however large it grows meanwhile. Never waits for a pipe or a device. */
export async function readBounded(path: string, maxBytes: number): Promise<ReadBounded> {
  let handle: FileHandle | undefined
  try {
    handle = await open(path, OPEN_FLAGS)
    return await readOpen(handle, maxBytes)
  } catch (error) {
    return refusal(whyUnreadable(error), codeOf(error))
  } finally {
    await handle?.close()
  }
}

/** Name of the user that this process runs as. */
export function userName(): string {
  try {
    return userInfo().username
  } catch {
    // It has no name.
    return String(process.geteuid?.())
  }
}

/** Explains why a file or directory cannot be read. */
export function whyUnreadable(error: unknown): string {
  const code = codeOf(error)
  switch (code) {
    case 'ENOENT':
      return 'no such file'
    case 'EISDIR':
      return 'is a directory, not a file'
    case 'ELOOP':
      return 'is a symbolic link loop'
    case 'EACCES':
      return `is not readable by the user ${userName()}: check owner and mode of the file and of the directories above it`
    default:
      return `cannot be read: ${code ?? messageOf(error)}`
  }
}
