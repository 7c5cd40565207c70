import { sep } from 'node:path'

export const ONLY_USER = 0o700
const USER_WRITES = 0o600
/** No set-user-id bits, and no writing by others. */
export const PERMISSIONS = 0o755

/** The mode of a file in a release. */
export function fileMode(mode: number): number {
  return (mode & PERMISSIONS) | USER_WRITES
}

/** True for a directory and all below it. */
export function isInside(path: string, directory: string): boolean {
  return path === directory || path.startsWith(`${directory}${sep}`)
}
