// Bundles one program into scripts and a start that loads them.
import { createHash } from 'node:crypto'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { build } from 'esbuild'
import { passChanges, readModule, rewrite } from './script-form.mjs'

const START = new URL('./program-start.mjs', import.meta.url)

/** A script gets the exports of another one when that has run: two that import each other would get nothing. */
function requireNoCycle(outputs) {
  const done = new Set()
  const visit = (path, above) => {
    if (above.includes(path)) throw new Error(`modules that import each other: ${[...above, path].join(', ')}`)
    if (done.has(path) || outputs[path] === undefined) return
    for (const { path: next, kind } of outputs[path].imports) if (kind === 'import-statement') visit(next, [...above, path])
    done.add(path)
  }
  for (const path of Object.keys(outputs)) visit(path, [])
}

/**
 * Each program is a build of its own. In a build of several, a program would load every module that it can reach by imports and
 * that any of them uses; in one of its own it loads those that it uses.
 * @param name of the program: `NAME.js` in `outDir` starts it
 */
export async function bundleProgram({ name, path, root, outDir, external, plugins }) {
  const { outputFiles, metafile } = await build({
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
    metafile: true,
    write: false,
  })
  requireNoCycle(metafile.outputs)
  const scripts = outputFiles.filter(({ path: file }) => file.endsWith('.js'))
  const modules = new Map(scripts.map(({ path: file, text }) => [basename(file), readModule(text, file)]))
  passChanges(modules)
  await mkdir(join(outDir, 'chunks'), { recursive: true })
  const legal = outputFiles.filter((file) => !scripts.includes(file)).map((file) => writeFile(file.path, file.contents))
  const written = scripts.map(({ path: file }) =>
    writeFile(file.replace(/js$/, 'cjs'), rewrite(modules.get(basename(file)), modules)),
  )
  await Promise.all([...legal, ...written])
  const texts = scripts.map(({ text }) => text).join('\0')
  const version = createHash('sha256').update(texts).digest('hex').slice(0, 16)
  const words = { __PROGRAM__: name, __VERSION__: version, __MAIN__: `${name}.cjs` }
  const start = await readFile(START, 'utf8')
  await writeFile(
    join(outDir, `${name}.js`),
    start.replace(/__[A-Z]+__/g, (word) => words[word]),
  )
}
