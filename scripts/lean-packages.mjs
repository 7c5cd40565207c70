// A plugin of esbuild that bundles packages which find files beside themselves, without the packages that these load and the
// service never uses: that is most of the time that they take to load, in the master, each worker and each render host.
import { readFile } from 'node:fs/promises'

const namespace = 'lean-packages'

/** Packages to replace, by name. */
const replacements = {
  // The encoder of lmdb for values that are no bytes, and its native helper.
  msgpackr: `exports.Encoder = class {
    constructor() { throw new Error('lmdb is built for bytes alone: a database needs encoding "binary"') }
  }`,
  // Searches directories for the native part of lmdb. Its place is known; where it is another, the search does its work.
  'node-gyp-build-optional-packages': `const { createRequire } = require('node:module')
  const path = '@lmdb/lmdb-' + process.platform + '-' + process.arch + '/node.abi' + process.versions.modules + '.glibc.node'
  module.exports = (dir) => {
    const load = createRequire(dir + '/package.json')
    try {
      return load(path)
    } catch (error) {
      if (error.code !== 'MODULE_NOT_FOUND') throw error
      return load('node-gyp-build-optional-packages')(dir)
    }
  }`,
  // The service runs with glibc alone: see bin/node.
  'detect-libc': `exports.MUSL = 'musl'
  exports.familySync = () => 'glibc'`,
}

/** Files that name their place, and what they are to begin with: in a bundle the place would be another. */
const places = [
  { file: /[/\\]lmdb[/\\]dist[/\\]index\.cjs$/, head: "var __filename = require.resolve('lmdb')" },
  {
    file: /[/\\]piscina[/\\]dist[/\\]index\.js$/,
    head: "var __dirname = require('node:path').dirname(require.resolve('piscina'))",
  },
]

/** Packages in CommonJS form that are imported late, and the names that are read of them. */
const entries = { lmdb: ['open'], '@parcel/watcher': ['subscribe'] }

const entryOf = (name) => `const whole = require('${name}')\nexport const { ${entries[name].join(', ')} } = whole`

const namesIn = (table) => new RegExp(`^(?:${Object.keys(table).join('|')})$`)

export const leanPackages = {
  name: namespace,
  setup(build) {
    build.onResolve({ filter: namesIn(entries) }, ({ path, kind, resolveDir }) =>
      kind === 'dynamic-import' ? { path, namespace: `${namespace}:entry`, pluginData: resolveDir } : undefined,
    )
    build.onLoad({ filter: /^/, namespace: `${namespace}:entry` }, ({ path, pluginData: resolveDir }) => ({
      contents: entryOf(path),
      resolveDir,
    }))
    // Of the heads above: it is found at run time.
    build.onResolve({ filter: /^(?:lmdb|piscina)$/ }, ({ path, kind }) =>
      kind === 'require-resolve' ? { path, external: true } : undefined,
    )
    build.onResolve({ filter: namesIn(replacements) }, ({ path }) => ({ path, namespace }))
    build.onLoad({ filter: /^/, namespace }, ({ path }) => ({ contents: replacements[path], loader: 'js' }))
    for (const { file, head } of places) {
      build.onLoad({ filter: file }, async ({ path }) => ({ contents: `${head}\n${await readFile(path, 'utf8')}`, loader: 'js' }))
    }
  },
}
