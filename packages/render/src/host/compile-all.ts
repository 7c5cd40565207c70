import type { SiteManifest } from '@svc/site'
import { isFileModule } from '../thread/module-graph.ts'
import { filesOfRoute, routeById } from '../thread/route-files.ts'
import type { CompileModules } from './data/site-services.ts'

/** A process that compiles may be ended by its deadline, which holds for so many modules. */
const BATCH = 32
/** Further modules of a site are compiled by the requests that need them. */
const MAX_MODULES = 20_000
const MAX_ERRORS = 100

function entriesOf(manifest: SiteManifest): Set<string> {
  const routes = [...manifest.routes, routeById(manifest, 'svc:not-found')]
  const files = new Set(routes.flatMap((route) => filesOfRoute(route, manifest)))
  if (manifest.middleware !== null) files.add(manifest.middleware.file)
  return files
}

/**
 * Compiles the modules of all routes, and those that they import. Returns the errors, a bounded number of them.
 * @param view a name that no other compilation has, so that every file is looked up again
 */
export async function compileAll(manifest: SiteManifest, view: string, compile: CompileModules): Promise<string[]> {
  const seen = entriesOf(manifest)
  const errors = new Set<string>()
  let waiting = [...seen]
  while (waiting.length > 0 && errors.size < MAX_ERRORS) {
    const ids = waiting.slice(0, BATCH)
    const { modules } = await compile({ view, ids })
    const left: string[] = []
    for (const [at, { hash, dependencies = {}, lastGood, error }] of modules.entries()) {
      const problem = error?.message ?? lastGood
      if (problem !== undefined) errors.add(problem)
      // The reply was full. The first result of a reply is always there, so this ends.
      else if (hash === undefined) left.push(ids[at] ?? '')
      for (const id of Object.values(dependencies)) {
        if (!isFileModule(id) || seen.has(id) || seen.size >= MAX_MODULES) continue
        seen.add(id)
        left.push(id)
      }
    }
    waiting = [...waiting.slice(BATCH), ...left]
  }
  return [...errors].slice(0, MAX_ERRORS)
}
