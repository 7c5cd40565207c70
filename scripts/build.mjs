// Bundles each program of the service into dist/: one file per process or thread, so that start-up reads few files.
//
//   node scripts/build.mjs             build
//   node scripts/build.mjs --if-stale  build only when a source is newer than the last build
import { mkdir, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { requirePlatform } from './platform.mjs'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const outDir = join(root, 'dist')
const stamp = join(outDir, 'build.stamp')

/** Programs by name of their bundle. */
const programs = {
  cli: 'packages/cli/src/main.ts',
  worker: 'packages/worker/src/main.ts',
  'password-thread': 'packages/worker/src/vhost/passwords/thread-main.ts',
  'render-host': 'packages/render/src/host/main.ts',
  'render-thread': 'packages/render/src/thread/main.ts',
  'config-check': 'packages/supervisor/src/config-check/main.ts',
  unpack: 'packages/supervisor/src/releases/unpack/main.ts',
  'site-scan': 'packages/render/src/scan/main.ts',
}

/** Packages that carry native code or find files beside themselves. */
const external = [
  '@node-rs/argon2',
  '@parcel/watcher',
  'esbuild',
  'isolated-vm',
  'lmdb',
  'oxc-parser',
  'oxc-resolver',
  'oxc-transform',
  'piscina',
  'uWebSockets.js',
]

/**
 * Importing `node:http` as a module reads all its exports, and one of them loads the undici inside Node, about a sixth of the time
 * that a program takes to load. `getBuiltinModule` reads none of them.
 */
const httpWithoutUndici = {
  name: 'http-without-undici',
  setup({ onResolve, onLoad }) {
    const namespace = 'builtin-http'
    onResolve({ filter: /^(?:node:)?http$/ }, ({ kind }) => (kind === 'require-call' ? undefined : { path: 'http', namespace }))
    onLoad({ filter: /^/, namespace }, () => ({ contents: "module.exports = process.getBuiltinModule('node:http')" }))
  },
}

async function newestChange(path) {
  const info = await stat(path)
  if (!info.isDirectory()) return info.mtimeMs
  let newest = info.mtimeMs
  for (const name of await readdir(path)) {
    if (name === 'node_modules' || name === 'test') continue
    newest = Math.max(newest, await newestChange(join(path, name)))
  }
  return newest
}

async function isFresh() {
  const built = await stat(stamp).catch(() => undefined)
  if (built === undefined) return false
  const sources = ['packages', 'scripts/build.mjs', 'package-lock.json']
  const changes = await Promise.all(sources.map((path) => newestChange(join(root, path))))
  return Math.max(...changes) < built.mtimeMs
}

/**
 * Each program is a build of its own. In a build of several, a program would load every module that it can reach by imports and
 * that any of them uses; in one of its own it loads those that it uses.
 */
async function bundleProgram([name, path]) {
  const { build } = await import('esbuild')
  await build({
    absWorkingDir: root,
    entryPoints: { [name]: path },
    outdir: outDir,
    bundle: true,
    splitting: true,
    platform: 'node',
    target: 'node22',
    format: 'esm',
    chunkNames: 'chunks/[name]-[hash]',
    external,
    plugins: [httpWithoutUndici],
    legalComments: 'external',
    logLevel: 'warning',
    // Packages in CommonJS form call `require`, which a module does not have.
    banner: {
      js: "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);",
    },
  })
}

async function main() {
  requirePlatform()
  if (process.argv.includes('--if-stale') && (await isFresh())) return
  const startedAt = Date.now()
  await rm(stamp, { force: true })
  for (const stale of ['chunks', 'code-cache']) await rm(join(outDir, stale), { recursive: true, force: true })
  await mkdir(outDir, { recursive: true })
  const { buildGuest } = await import('../packages/guest/build/guest.mjs')
  await Promise.all([...Object.entries(programs).map(bundleProgram), buildGuest({ outDir, nodeBinary: join(root, 'bin/node') })])
  await writeFile(stamp, '')
  console.error(`built dist/ in ${Date.now() - startedAt} ms`)
}

await main()
