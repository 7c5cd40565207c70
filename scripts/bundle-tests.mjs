// Bundles test entries, and the programs that they start: a process that strips the types of every source that it loads takes
// several times longer to start.
import { readFile } from 'node:fs/promises'
import { dirname, extname, join, relative, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'esbuild'

/** A source that a test names, to start it in a process or thread of its own. */
const sourceUrl = /\bnew URL\('([^']+\.ts)', import\.meta\.url\)/g

/** Reads the names of the programs that modules start. @returns entries: paths by name of their bundle */
async function programsOf({ root, modules }) {
  const found = modules.map(async (module) => {
    const text = await readFile(module, 'utf8')
    return [...text.matchAll(sourceUrl)].map(([, name]) => resolve(dirname(module), name))
  })
  const programs = new Set((await Promise.all(found)).flat())
  return Object.fromEntries([...programs].map((path) => [relative(root, path).replace(/\.ts$/, ''), path]))
}

/**
 * Tests and sources look for fixtures beside themselves, so `import.meta` keeps naming the source. A program is named by its
 * bundle.
 */
const placesOfSources = (bundleOf) => ({
  name: 'places-of-sources',
  setup({ onLoad }) {
    onLoad({ filter: /\.(?:ts|mjs)$/ }, async ({ path }) => {
      const places = { url: pathToFileURL(path).href, filename: path, dirname: dirname(path) }
      const text = await readFile(path, 'utf8')
      const contents = text
        .replace(sourceUrl, (all, name) => {
          const bundle = bundleOf.get(resolve(dirname(path), name))
          return bundle === undefined ? all : `new URL(${JSON.stringify(pathToFileURL(bundle).href)})`
        })
        .replace(/\bimport\.meta\.(url|filename|dirname)\b/g, (_all, name) => JSON.stringify(places[name]))
      return { contents, loader: extname(path) === '.ts' ? 'ts' : 'js' }
    })
  },
})

/** Leaves third-party packages outside. Packages of the product are sources. */
const externalPackages = {
  name: 'external-packages',
  setup({ onResolve }) {
    onResolve({ filter: /^[^./]/ }, ({ path, kind }) =>
      kind === 'entry-point' || path.startsWith('@svc/') ? undefined : { path, external: true },
    )
  },
}

/**
 * Bundles modules into a directory of the checkout.
 * @param entries module paths by name of their bundle
 * @param modules paths of the modules whose programs are bundled too
 */
export async function bundleTests({ root, entries, modules, outDir }) {
  const programs = await programsOf({ root, modules })
  const bundleOf = new Map(Object.entries(programs).map(([name, path]) => [path, join(outDir, `${name}.mjs`)]))
  await build({
    absWorkingDir: root,
    entryPoints: { ...entries, ...programs },
    outdir: outDir,
    outExtension: { '.js': '.mjs' },
    chunkNames: 'chunks/[hash]',
    bundle: true,
    splitting: true,
    sourcemap: true,
    // The sources are there.
    sourcesContent: false,
    platform: 'node',
    target: 'node22',
    format: 'esm',
    plugins: [placesOfSources(bundleOf), externalPackages],
    logLevel: 'warning',
    // A group that leaves out a test file would pass without its tests.
    logOverride: { 'ignored-bare-import': 'error' },
  })
}
