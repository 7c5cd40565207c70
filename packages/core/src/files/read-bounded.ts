import { userInfo } from 'node:os'
import { codeOf, messageOf } from '../errors/app-error.ts'
import type { CoreError } from '../errors/errors.ts'
import { loadRegularFile } from './regular-file.ts'

/** The content of a file, or why it cannot be had. `code` is that of the system, where it comes from there. */
type ReadBounded =
  | { readonly ok: true; readonly bytes: Buffer }
  | { readonly ok: false; readonly why: string; readonly code: string | undefined }

/** Reads a regular file of at most `maxBytes`, however large it grows meanwhile. Never waits for a pipe or a device. */
export async function readBounded(path: string, maxBytes: number): Promise<ReadBounded> {
  try {
    const { bytes } = await loadRegularFile(path, { maxBytes })
    return { ok: true, bytes }
  } catch (error) {
    if (codeOf(error) === 'CORE_FILE_REFUSED') {
      const { why, code } = (error as CoreError).data as { readonly why: string; readonly code?: string }
      return { ok: false, why, code }
    }
    return { ok: false, why: whyUnreadable(error), code: codeOf(error) }
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
