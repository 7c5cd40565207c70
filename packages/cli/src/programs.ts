import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Absolute paths of the programs that the master starts. */
export interface Programs {
  readonly worker: string
  readonly renderHost: string
}

/**
 * Finds the programs beside the one that runs: bundled files of one directory, or sources in their packages.
 * @param ownFile absolute path of this module's file, as it runs
 */
export function findPrograms(ownFile: string = fileURLToPath(import.meta.url)): Programs {
  const dir = dirname(ownFile)
  if (ownFile.endsWith('.ts')) {
    const packages = join(dir, '../..')
    return { worker: join(packages, 'worker/src/main.ts'), renderHost: join(packages, 'render/src/host/main.ts') }
  }
  // Code that several bundles share lies in a directory of its own below theirs.
  const bundles = dir.endsWith('chunks') ? dirname(dir) : dir
  return { worker: join(bundles, 'worker.js'), renderHost: join(bundles, 'render-host.js') }
}
