import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ModuleCache } from '../../packages/render/src/compile/module-cache.ts'
import { scriptOf } from '../../packages/render/src/compile/module-script.ts'
import { SiteCompiler } from '../../packages/render/src/compile/site-compiler.ts'
import { SiteResolver } from '../../packages/render/src/compile/site-resolver.ts'
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

/**
 * What the thread does for one module before it hands it to the isolate: compiled code, checked, and its bytecode. CPU time of
 * the process in microseconds per module: other load on the machine must not count.
 */
async function loadAll(root: string, cacheDir: string, files: readonly string[], store: boolean): Promise<number> {
  const dirs = { modules: join(cacheDir, 'modules'), index: join(cacheDir, 'compile'), bytecode: join(cacheDir, 'bytecode') }
  const cache = new ModuleCache(dirs)
  const compiler = new SiteCompiler({ resolver: new SiteResolver(root), cache, mode: 'production', onLastGood: () => undefined })
  const before = process.cpuUsage()
  for (const file of files) {
    const module = await compiler.load(file)
    const script = scriptOf(module)
    if (store) cache.storeBytecode(module.hash, Buffer.alloc(script.length * 2, 7))
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
  // Files that were just written are looked at again by content; the usual case is an old file.
  await new Promise((resolve) => setTimeout(resolve, 200))
  const cold: number[] = []
  const warm: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const cacheDir = join(workDir, 'compile-cache')
    rmSync(cacheDir, { recursive: true, force: true })
    cold.push(await loadAll(root, cacheDir, files, true))
    warm.push(await loadAll(root, cacheDir, files, false))
  }
  const figures = {
    'cold, CPU µs (compiled and written)': figure(median(cold)),
    'from disk, CPU µs (source, check, bytecode)': figure(median(warm)),
    'cold is': `${(median(cold) / median(warm)).toFixed(1)} x`,
  }
  return [{ scenario: 'compile: one module of 3 KB', server: `svc, ${MODULES} modules, median of ${ROUNDS}`, figures }]
}
