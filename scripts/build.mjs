// Bundles each program of the service into dist/: one file per process or thread, so that start-up reads few files.
//
//   node scripts/build.mjs             build
//   node scripts/build.mjs --if-stale  build only when a source is newer than the last build
import { execFileSync } from 'node:child_process'
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

/** Exports of built-in modules that are getters, and that a program imports. */
const gettersInUse = { async_hooks: ['AsyncLocalStorage'], net: ['BlockList'] }

/**
 * Importing a built-in module reads all its exports, and the getters among them load further parts of Node: a quarter of the time
 * that a program takes to load. `getBuiltinModule` reads none of them; here each program reads those that it uses. A module that is
 * loaded late has all its exports read: so no getter is one, unless `gettersInUse` names it.
 */
function builtinsByNeed() {
  const namespace = 'builtin'
  const exportsOf = builtinExports()
  return {
    name: 'builtins-by-need',
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /^(?:node:)?[a-z_0-9/]+$/ }, ({ path, kind }) => {
        const name = path.replace(/^node:/, '')
        return kind !== 'require-call' && exportsOf[name] !== undefined
          ? { path: name, namespace, sideEffects: false }
          : undefined
      })
      onLoad({ filter: /^/, namespace }, ({ path }) => ({
        contents: builtinModule(path, [...exportsOf[path], ...(gettersInUse[path] ?? [])]),
      }))
    },
  }
}

/** Asks the bundled Node, which may be newer than the one that builds. @returns the names that each built-in module exports, without getters */
function builtinExports() {
  const program = `
    const { builtinModules, createRequire } = require('node:module')
    const names = builtinModules.filter((name) => !name.startsWith('_') && !name.startsWith('node:'))
    const isGetter = (name, key) => Object.getOwnPropertyDescriptor(require('node:' + name), key).get !== undefined
    const keysOf = (name) => Object.keys(require('node:' + name)).filter((key) => !isGetter(name, key))
    console.log(JSON.stringify(Object.fromEntries(names.map((name) => [name, keysOf(name)]))))`
  return JSON.parse(execFileSync(nodeBinary, ['--no-warnings', '--eval', program], { encoding: 'utf8' }))
}

function builtinModule(name, exported) {
  const names = exported.filter((one) => one !== 'default' && /^[A-Za-z_$][\w$]*$/.test(one))
  return [
    `const builtin = process.getBuiltinModule('node:${name}')`,
    'const read = (name) => builtin[name]',
    ...names.map((one, at) => `const own${at} = /* @__PURE__ */ read('${one}')`),
    `export { ${names.map((one, at) => `own${at} as ${one}`).join(', ')} }`,
    'export default builtin',
  ].join('\n')
}

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
  const sources = ['packages', 'scripts/build.mjs', 'scripts/lean-packages.mjs', 'package-lock.json']
  const changes = await Promise.all(sources.map((path) => newestChange(join(root, path))))
  return Math.max(...changes) < built.mtimeMs
}

/**
 * Each program is a build of its own. In a build of several, a program would load every module that it can reach by imports and
 * that any of them uses; in one of its own it loads those that it uses.
 */
async function bundleProgram([name, path], plugins) {
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
    plugins,
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
  const plugins = [builtinsByNeed(), asciiWidths, leanPackages]
  const { buildGuest } = await import('../packages/guest/build/guest.mjs')
  const { buildPanel } = await import('../packages/panel/build/panel.mjs')
  await Promise.all([
    ...Object.entries(programs).map((program) => bundleProgram(program, plugins)),
    buildGuest({ outDir, nodeBinary }),
    buildPanel({ outDir }),
  ])
  await writeFile(stamp, '')
  console.error(`built dist/ in ${Date.now() - startedAt} ms`)
}

await main()
