// Bundles each program of the service into dist/: one file per process or thread, so that start-up reads few files.
//
//   node scripts/build.mjs             build
//   node scripts/build.mjs --if-stale  build only when a source is newer than the last build
import { mkdir, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { leanPackages } from './lean-packages.mjs'
import { requirePlatform } from './platform.mjs'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const outDir = join(root, 'dist')
const stamp = join(outDir, 'build.stamp')
const nodeBinary = join(root, 'bin/node')

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

/** Packages that carry native code or find files beside themselves. Some others that do are bundled: see lean-packages.mjs. */
const external = ['@node-rs/argon2', 'esbuild', 'isolated-vm', 'oxc-parser', 'oxc-resolver', 'oxc-transform', 'uWebSockets.js']

/**
 * Widths of texts in columns, for the help of `svc`, which is ASCII. The package that yargs asks knows all of Unicode, for which
 * Node reads its tables of characters: a tenth of the time that a command takes to start.
 */
const asciiWidths = {
  name: 'ascii-widths',
  setup({ onResolve, onLoad }) {
    const namespace = 'ascii-widths'
    onResolve({ filter: /^string-width$/ }, ({ path }) => ({ path, namespace }))
    onLoad({ filter: /^/, namespace }, () => ({
      contents: `import { stripVTControlCharacters } from 'node:util'
        export default (text) => stripVTControlCharacters(text).length`,
    }))
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
  const sources = ['packages', 'scripts/build.mjs', 'scripts/lean-packages.mjs', 'scripts/programs', 'package-lock.json']
  const changes = await Promise.all(sources.map((path) => newestChange(join(root, path))))
  return Math.max(...changes) < built.mtimeMs
}

async function main() {
  requirePlatform()
  if (process.argv.includes('--if-stale') && (await isFresh())) return
  const startedAt = Date.now()
  await rm(stamp, { force: true })
  for (const stale of ['chunks', 'code-cache']) await rm(join(outDir, stale), { recursive: true, force: true })
  await mkdir(join(outDir, 'chunks'), { recursive: true })
  const { bundleProgram } = await import('./programs/bundle-program.mjs')
  const { buildGuest } = await import('../packages/guest/build/guest.mjs')
  const { buildPanel } = await import('../packages/panel/build/panel.mjs')
  await Promise.all([
    ...Object.entries(programs).map(([name, path]) =>
      bundleProgram({ name, path, root, outDir, external, plugins: [asciiWidths, leanPackages] }),
    ),
    buildGuest({ outDir, nodeBinary }),
    buildPanel({ outDir }),
  ])
  await writeFile(stamp, '')
  console.error(`built dist/ in ${Date.now() - startedAt} ms`)
}

await main()
