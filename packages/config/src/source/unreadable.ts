import { userInfo } from 'node:os'
import { codeOf, messageOf } from '@svc/core'

/** Name of the user that this process runs as. */
export function userName(): string {
  try {
    return userInfo().username
  } catch {
    // It has no name.
    return String(process.geteuid?.())
  }
}

/** Why a file or directory cannot be read, in words. */
export function whyUnreadable(error: unknown): string {
  const code = codeOf(error)
  switch (code) {
    case 'ENOENT':
      return 'no such file'
    case 'EISDIR':
      return 'is a directory, not a file'
    case 'ELOOP':
      return 'is a symbolic link that leads to itself'
    case 'EACCES':
      return `may not be read by the user ${userName()}: look at its owner and mode, and at those of the directories above it`
    default:
      return `cannot be read: ${code ?? messageOf(error)}`
  }
}
