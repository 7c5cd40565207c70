import { release } from 'node:os'
import { PRODUCT_VERSION } from '@svc/protocol'
import { shellWord } from '../../command-line/installation.ts'
import type { Check, Subject, Verdict } from '../model/subject.ts'

/** Native packages: the server runs no site without the first, and engine "uws" needs the second. */
const PACKAGES = ['isolated-vm', 'uWebSockets.js'] as const
/** Prints for each package if it can be loaded here, in one line of JSON. */
const LOAD = `const found = {}
for (const name of ${JSON.stringify(PACKAGES)}) try { require(name); found[name] = '' } catch (error) { found[name] = String(error.message).split('\\n')[0] }
console.log(JSON.stringify(found))`

function glibcVersion(): string {
  const { header } = process.report.getReport() as { header: { glibcVersionRuntime?: string } }
  return header.glibcVersionRuntime ?? 'unknown'
}

function nodeVerdict({ installation }: Subject): Verdict {
  const message = `svc ${PRODUCT_VERSION}, Node.js ${process.versions.node}, glibc ${glibcVersion()}, Linux ${release()}`
  if (process.execPath.startsWith(`${installation}/`)) return { status: 'ok', message }
  const remedy = `npm install --prefix ${shellWord(installation)}`
  return { status: 'warning', message: `${message}: Node.js is ${process.execPath}, not the bundled one`, remedy }
}

async function nativeVerdicts({ machine, installation, loaded }: Subject): Promise<Verdict[]> {
  const ran = await machine.run(process.execPath, ['--no-node-snapshot', '--eval', LOAD], installation)
  if (ran?.code !== 0) return [{ status: 'unknown', message: `native packages: Node.js cannot be started in ${installation}` }]
  const found = JSON.parse(ran.stdout) as Record<string, string>
  const remedy = `npm install --prefix ${shellWord(installation)}`
  const { engineOf } = await import('@svc/config')
  const needsUws = loaded === undefined || loaded.listen.some((name) => engineOf(name, loaded.config) === 'uws')
  return Object.entries(found).flatMap(([name, error]): Verdict[] => {
    if (error === '') return [{ status: 'ok', message: `${name} works with this Node.js and glibc` }]
    if (name === 'isolated-vm') return [{ status: 'problem', message: `isolated-vm cannot be loaded: ${error}`, remedy }]
    if (!needsUws) return [{ status: 'ok', message: 'uWebSockets.js cannot be loaded, and no engine needs it' }]
    return [{ status: 'warning', message: `uWebSockets.js cannot be loaded, so engine "node" serves: ${error}`, remedy }]
  })
}

/** Kernel, C library, Node.js and native packages fit together. */
export const versionsCheck: Check = {
  name: 'versions',
  run: async (subject) => [nodeVerdict(subject), ...(await nativeVerdicts(subject))],
}
