import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { codeOf } from '@svc/core'

/**
 * Makes a directory and those above it that are missing. `recursive` of Node's own mkdir never returns where the file system
 * answers ENOENT for a directory whose parent exists, as /proc does.
 */
export async function makeDirectory(dir: string): Promise<void> {
  try {
    await mkdir(dir)
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return
    if (codeOf(error) !== 'ENOENT' || dirname(dir) === dir) throw error
    await makeDirectory(dirname(dir))
    await mkdir(dir)
  }
}
