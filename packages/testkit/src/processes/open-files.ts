import { readdirSync, readlinkSync, truncateSync } from 'node:fs'
import { join } from 'node:path'

/** Files below a directory that this process has open: their numbers. Those without a name count too. */
export function openBelow(dir: string): string[] {
  return readdirSync('/proc/self/fd').filter((fd) => linkOf(fd).startsWith(join(dir, '/')))
}

/** Takes the contents of the files that this process has open below a directory away from it. */
export function emptyBelow(dir: string): void {
  for (const fd of openBelow(dir)) truncateSync(`/proc/self/fd/${fd}`)
}

function linkOf(fd: string): string {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`)
  } catch {
    // It was that of the directory, while it was read.
    return ''
  }
}
