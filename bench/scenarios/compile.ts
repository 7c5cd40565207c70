import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Script } from 'node:vm'
import { ModuleCache } from '../../packages/compile/src/module-cache.ts'
import { hasBytecode, scriptOf } from '../../packages/compile/src/module-kind.ts'
import { SiteCompiler } from '../../packages/compile/src/site-compiler.ts'
import { SiteResolver } from '../../packages/compile/src/site-resolver.ts'
import { figure, type Row } from '../lib/table.ts'
import { workDir } from '../peers/svc.ts'

const MODULES = 300
const ROUNDS = 7

/** A component of a usual size: some 3 KB, four imports, one of them a package of the service. */
function source(index: number): string {
  const neighbour = (step: number) => `./part-${(index + step) % MODULES}`
  const rows = Array.from(
    { length: 24 },
    (_, row) => `      <li key={${row}} className="row-${row}">{props.items[${row}]?.title ?? '${index}-${row}'}</li>`,
  )
  return [
    "import { headers } from 'svc/headers'",
    ...[1, 2, 3].map((step) => `import { Part as Part${step} } from '${neighbour(step)}'`),
    'interface Props { readonly items: readonly { readonly title: string }[]; readonly depth?: number }',
    `export async function Part(props: Props) {`,
    `  const agent = props.depth === 0 ? (await headers()).get('user-agent') : null`,
    `  return (`,
    `    <section data-agent={agent} data-of={String(Part1.length + Part2.length + Part3.length)}>`,
    ...rows,
    `    </section>`,
    `  )`,
    `}`,
    '',
  ].join('\n')
}

interface Load {
  readonly root: string
  readonly cacheDir: string
  readonly files: readonly string[]
}

function openCompiler({ root, cacheDir }: Load) {
  const dirs = { modules: join(cacheDir, 'modules'), index: join(cacheDir, 'compile'), bytecode: join(cacheDir, 'bytecode') }
  const cache = new ModuleCache(dirs)
  const compiler = new SiteCompiler({ resolver: new SiteResolver(root), cache, mode: 'production', onLastGood: () => undefined })
  return { cache, compiler }
}

/** V8's code cache of one of the modules: those of the others differ from it in a few characters. */
async function sampleBytecode(load: Load): Promise<Uint8Array> {
  const module = await openCompiler(load).compiler.load(load.files[0] ?? '')
  const bytecode = new Script(scriptOf(module), { produceCachedData: true }).cachedData
  if (bytecode === undefined) throw new Error('V8 gave no code cache')
  return bytecode
}

/**
 * The thread's work for one module before it passes it to the isolate: compiled code, checked, and its bytecode. CPU time of
 * the process in microseconds per module: other load on the machine must not count.
 *
 * @param bytecode - stored with each module; undefined: reads the stored one
 */
async function loadAll(load: Load, bytecode: Uint8Array | undefined): Promise<number> {
  const { files } = load
  const { cache, compiler } = openCompiler(load)
  const before = process.cpuUsage()
  for (const file of files) {
    const module = await compiler.load(file)
    if (!hasBytecode(module.format, scriptOf(module))) throw new Error('too small for bytecode')
    if (bytecode !== undefined) cache.storeBytecode(module.hash, bytecode)
    else if (cache.bytecode(module.hash) === undefined) throw new Error('no bytecode on disk')
  }
  const { user, system } = process.cpuUsage(before)
  return (user + system) / files.length
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
}

/** One module cold and from disk, in turn: the compiler's own time without that of V8. */
export async function compileModules(): Promise<Row[]> {
  const root = join(workDir, 'compile-site')
  rmSync(root, { recursive: true, force: true })
  mkdirSync(join(root, 'app'), { recursive: true })
  const files = Array.from({ length: MODULES }, (_, index) => join(root, 'app', `part-${index}.tsx`))
  for (const [index, file] of files.entries()) writeFileSync(file, source(index))
  // Recently written files are checked again by content; the usual case is an old file.
  await new Promise((resolve) => setTimeout(resolve, 200))
  const load: Load = { root, cacheDir: join(workDir, 'compile-cache'), files }
  const bytecode = await sampleBytecode(load)
  const cold: number[] = []
  const warm: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    rmSync(load.cacheDir, { recursive: true, force: true })
    cold.push(await loadAll(load, bytecode))
    warm.push(await loadAll(load, undefined))
  }
  const figures = {
    'cold, CPU µs (compiled and written)': figure(median(cold)),
    'from disk, CPU µs (source, check, bytecode)': figure(median(warm)),
    'cold is': `${(median(cold) / median(warm)).toFixed(1)} x`,
  }
  return [{ scenario: 'compile: one module of 3 KB', server: `svc, ${MODULES} modules, median of ${ROUNDS}`, figures }]
}
