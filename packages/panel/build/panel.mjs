// Bundles the admin panel for browsers: scripts that load each other on demand, one style sheet, an icon, each under a name that changes
// with its content and compressed in advance, and a manifest that names them and the pages.
import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { brotliCompress, gzip } from 'node:zlib'

const src = join(dirname(dirname(fileURLToPath(import.meta.url))), 'src')
const codings = [
  ['br', '.br', promisify(brotliCompress)],
  ['gzip', '.gz', (bytes) => promisify(gzip)(bytes, { level: 9 })],
]
const types = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/** Runs the table of the pages without their code. @returns path and source of each page */
async function pageTable(build) {
  const { outputFiles } = await build({
    entryPoints: [join(src, 'pages/pages.ts')],
    bundle: true,
    write: false,
    format: 'esm',
    external: ['*.tsx'],
    logLevel: 'warning',
  })
  const { pages } = await import(`data:text/javascript,${encodeURIComponent(outputFiles[0].text)}`)
  return pages.map(({ path, load }) => {
    const [, source] = /import\("\.\/([\w-]+\.tsx)"\)/.exec(load.toString()) ?? []
    if (source === undefined) throw new Error(`the table of the pages does not import the code of ${path}`)
    return { path, source: `pages/${source}` }
  })
}

/** Sources that a source imports at once. */
function closureOf(inputs, source, found = new Set()) {
  for (const { path, kind } of inputs[source].imports) {
    if (kind !== 'import-statement' || found.has(path)) continue
    found.add(path)
    closureOf(inputs, path, found)
  }
  return found
}

/** The sources that the first script, or several pages, import: one file holds them all, since each small file costs a request. */
function sharedSources(inputs, table) {
  const users = new Map()
  for (const entry of ['main.tsx', ...table.map(({ source }) => source)]) {
    for (const source of closureOf(inputs, entry)) users.set(source, [...(users.get(source) ?? []), entry])
  }
  const isShared = ([, entries]) => entries.length > 1
  return [...users].filter(isShared).map(([source]) => source)
}

const SHARED = 'svc:shared'

/**
 * Makes each entry import all shared sources: modules with the same importers come into the same file.
 * @param entries sources of the first script and of the pages
 */
function inOneFile({ entries, shared }) {
  return {
    name: 'shared-sources-in-one-file',
    setup(build) {
      const paths = new Set(entries.map((entry) => join(src, entry)))
      build.onLoad({ filter: /\.tsx$/ }, async ({ path }) => {
        if (!paths.has(path)) return undefined
        return { contents: `${await readFile(path, 'utf8')}\nimport '${SHARED}'\n`, loader: 'tsx' }
      })
      build.onResolve({ filter: /^svc:shared$/ }, () => ({ path: SHARED, namespace: SHARED }))
      build.onLoad({ filter: /.*/, namespace: SHARED }, () => ({
        contents: shared.map((source) => `import ${JSON.stringify(join(src, source))}`).join('\n'),
        resolveDir: src,
      }))
    },
  }
}

/** Compresses a file where that makes it smaller. @returns the codings */
async function compress(path) {
  const bytes = await readFile(path)
  const made = []
  for (const [name, ending, encode] of codings) {
    const encoded = await encode(bytes)
    if (encoded.byteLength >= bytes.byteLength) continue
    await writeFile(`${path}${ending}`, encoded)
    made.push(name)
  }
  return made
}

async function copyIcon(outDir) {
  const bytes = await readFile(join(src, 'styles/icon.svg'))
  const hash = createHash('sha256').update(bytes).digest('hex').slice(0, 8).toUpperCase()
  await writeFile(join(outDir, `icon-${hash}.svg`), bytes)
  return `icon-${hash}.svg`
}

/** Libraries that a page loads when it draws itself: those that its sources import on demand. */
function onDemand(inputs, outputs, page) {
  const sources = new Set([page, ...closureOf(inputs, page)])
  const wanted = [...sources].flatMap((source) => inputs[source].imports.filter(({ kind }) => kind === 'dynamic-import'))
  return wanted.flatMap(({ path }) => Object.keys(outputs).filter((name) => outputs[name].entryPoint === path))
}

/** Writes the panel into `outDir`/panel. */
export async function buildPanel({ outDir: parent }) {
  const { build } = await import('esbuild')
  const outDir = join(parent, 'panel')
  await rm(outDir, { recursive: true, force: true })
  await mkdir(outDir, { recursive: true })
  const table = await pageTable(build)
  const options = {
    absWorkingDir: src,
    entryPoints: { panel: 'main.tsx', style: 'styles/style.css' },
    outdir: outDir,
    bundle: true,
    splitting: true,
    minify: true,
    format: 'esm',
    target: ['chrome123', 'firefox121', 'safari17.5'],
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    legalComments: 'external',
    // package.json says that modules have no effects, so that imports without names would be left out.
    ignoreAnnotations: true,
    metafile: true,
    logLevel: 'warning',
  }
  const { metafile: graph } = await build({ ...options, write: false })
  const entries = ['main.tsx', ...table.map(({ source }) => source)]
  const plugins = [inOneFile({ entries, shared: sharedSources(graph.inputs, table) })]
  const { metafile } = await build({ ...options, plugins })
  const nameOf = (path) => path.slice(path.lastIndexOf('/') + 1)
  const entryOf = (source) => Object.entries(metafile.outputs).find(([, { entryPoint }]) => entryPoint === source)[0]
  const script = entryOf('main.tsx')
  const imports = (output) => closureOf(metafile.outputs, output)
  const preload = [...imports(script)].map(nameOf)
  const preloadOf = (source) => {
    const output = entryOf(source)
    const own = [output, ...imports(output), ...onDemand(graph.inputs, metafile.outputs, source)].map(nameOf)
    return [...new Set(own)].filter((name) => !preload.includes(name))
  }
  const icon = await copyIcon(outDir)
  const names = (await readdir(outDir)).filter((name) => extname(name) in types).sort()
  const files = await Promise.all(
    names.map(async (name) => [name, { type: types[extname(name)], codings: await compress(join(outDir, name)) }]),
  )
  const manifest = {
    script: nameOf(script),
    style: nameOf(entryOf('styles/style.css')),
    icon,
    preload,
    pages: Object.fromEntries(table.map(({ path, source }) => [path, preloadOf(source)])),
    files: Object.fromEntries(files),
  }
  await writeFile(join(outDir, 'manifest.json'), `${JSON.stringify(manifest, null, 1)}\n`)
}
