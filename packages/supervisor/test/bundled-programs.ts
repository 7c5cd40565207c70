import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Cleanup, repositoryRoot, tempDir } from '@svc/testkit'
import { buildSync } from 'esbuild'

const sources = ['master', 'worker', 'render-host'].map((name) => fileURLToPath(new URL(`fixtures/${name}.ts`, import.meta.url)))
const REQUIRE = `import { createRequire as __createRequire } from 'node:module'
const require = __createRequire(import.meta.url)`

/** Path of this process's bundles, once they are built. */
const made: string[] = []

/**
 * Bundles the programs of the fixtures, once in a process, and returns the path of the master. Three processes that strip the types
 * of every source that they load take many times longer to start. The directory goes with the process.
 */
export function bundledMaster(t: Cleanup): string {
  const known = made[0]
  if (known !== undefined) return known
  const dir = tempDir(t, 'sup-programs')
  // External packages are resolved as in the checkout.
  symlinkSync(join(repositoryRoot, 'node_modules'), join(dir, 'node_modules'))
  buildSync({
    absWorkingDir: repositoryRoot,
    entryPoints: sources,
    outdir: dir,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: true,
    platform: 'node',
    target: 'node22',
    format: 'esm',
    external: ['@node-rs/argon2', '@parcel/watcher', 'lmdb'],
    banner: { js: REQUIRE },
    logLevel: 'warning',
  })
  const master = join(dir, 'master.mjs')
  made.push(master)
  return master
}
