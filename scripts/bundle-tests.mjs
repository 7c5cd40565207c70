// Bundles test entries: a process that strips the types of every source that it loads takes several times longer to start.
import { readFile } from 'node:fs/promises'
import { dirname, extname } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'esbuild'

/** Tests and sources look for fixtures and programs beside themselves, so `import.meta` keeps naming the source. */
const placesOfSources = {
  name: 'places-of-sources',
  setup({ onLoad }) {
    onLoad({ filter: /\.(?:ts|mjs)$/ }, async ({ path }) => {
      const places = { url: pathToFileURL(path).href, filename: path, dirname: dirname(path) }
      const text = await readFile(path, 'utf8')
      const contents = text.replace(/\bimport\.meta\.(url|filename|dirname)\b/g, (_all, name) => JSON.stringify(places[name]))
      return { contents, loader: extname(path) === '.ts' ? 'ts' : 'js' }
    })
  },
}

/** Leaves third-party packages outside. Packages of the product are sources. */
const externalPackages = {
  name: 'external-packages',
  setup({ onResolve }) {
    onResolve({ filter: /^[^./]/ }, ({ path, kind }) =>
      kind === 'entry-point' || path.startsWith('@svc/') ? undefined : { path, external: true },
    )
  },
}

/** Bundles modules into a directory of the checkout. @param entries module paths by name of their bundle */
export async function bundleTests({ root, entries, outDir }) {
  await build({
    absWorkingDir: root,
    entryPoints: entries,
    outdir: outDir,
    outExtension: { '.js': '.mjs' },
    chunkNames: 'chunks/[hash]',
    bundle: true,
    splitting: true,
    sourcemap: true,
    platform: 'node',
    target: 'node22',
    format: 'esm',
    plugins: [placesOfSources, externalPackages],
    logLevel: 'warning',
    // A group that leaves out a test file would pass without its tests.
    logOverride: { 'ignored-bare-import': 'error' },
  })
}
