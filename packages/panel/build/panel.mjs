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
const ADMIN = '/__svc/admin/'

/** Runs the table of the pages without their code. @returns the names of those below `/__svc/admin/` */
async function pageNames(build) {
  const { outputFiles } = await build({
    entryPoints: [join(src, 'pages/pages.ts')],
    bundle: true,
    write: false,
    format: 'esm',
    external: ['*.tsx'],
    logLevel: 'warning',
  })
  const { pages } = await import(`data:text/javascript,${encodeURIComponent(outputFiles[0].text)}`)
  return pages.filter(({ path }) => path.startsWith(ADMIN)).map(({ path }) => path.slice(ADMIN.length))
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

/** Scripts that the one of this name imports at once. */
function importsOf(outputs, path, found = new Set()) {
  for (const { path: target, kind } of outputs[path].imports) {
    if (kind !== 'import-statement' || found.has(target)) continue
    found.add(target)
    importsOf(outputs, target, found)
  }
  return [...found]
}

/** Writes the panel into `outDir`/panel. */
export async function buildPanel({ outDir: parent }) {
  const { build } = await import('esbuild')
  const outDir = join(parent, 'panel')
  await rm(outDir, { recursive: true, force: true })
  await mkdir(outDir, { recursive: true })
  const { metafile } = await build({
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
    metafile: true,
    logLevel: 'warning',
  })
  const nameOf = (path) => path.slice(path.lastIndexOf('/') + 1)
  const entryOf = (source) => Object.entries(metafile.outputs).find(([, { entryPoint }]) => entryPoint === source)[0]
  const script = entryOf('main.tsx')
  const preload = importsOf(metafile.outputs, script).map(nameOf)
  const icon = await copyIcon(outDir)
  const names = (await readdir(outDir)).filter((name) => extname(name) in types).sort()
  const files = await Promise.all(
    names.map(async (name) => [name, { type: types[extname(name)], codings: await compress(join(outDir, name)) }]),
  )
  const pages = await pageNames(build)
  const manifest = {
    script: nameOf(script),
    style: nameOf(entryOf('styles/style.css')),
    icon,
    preload,
    pages,
    files: Object.fromEntries(files),
  }
  await writeFile(join(outDir, 'manifest.json'), `${JSON.stringify(manifest, null, 1)}\n`)
}
