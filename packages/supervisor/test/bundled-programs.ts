import { existsSync, mkdtempSync, renameSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Cleanup, repositoryRoot, tempDir } from '@svc/testkit'
import { buildSync } from 'esbuild'

const sources = ['master', 'worker', 'render-host'].map((name) => fileURLToPath(new URL(`fixtures/${name}.ts`, import.meta.url)))
const REQUIRE = `import { createRequire as __createRequire } from 'node:module'
const require = __createRequire(import.meta.url)`

/** Path of the bundles for this process, once they are built. */
const made: string[] = []

/**
 * Bundles the programs of the fixtures, once in a run of tests, and returns the path of the master. Three processes that strip the
 * types of every source that they load take many times longer to start. The directory goes with the run; outside one, with the process.
 */
export function bundledMaster(t: Cleanup): string {
  made[0] ??= join(sharedBundles() ?? buildInto(tempDir(t, 'sup-programs')), 'master.mjs')
  return made[0]
}

/** The bundles of a run of tests, built by the process that is the first to need them. */
function sharedBundles(): string | undefined {
  const runDir = process.env['TEST_RUN_DIR']
  if (runDir === undefined) return undefined
  const dir = join(runDir, 'sup-programs')
  if (existsSync(dir)) return dir
  const own = buildInto(mkdtempSync(`${dir}-`))
  try {
    renameSync(own, dir)
  } catch (error) {
    // Another process was faster.
    if (!existsSync(dir)) throw error
  }
  return dir
}

function buildInto(dir: string): string {
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
  return dir
}
