import { paramLevels, staticParams } from '../page/static-params.ts'
import { requireModule } from '../registry/registry.ts'
import type { GuestRequest } from '../request/guest-request.ts'
import { openScope } from '../scope/request-scope.ts'
import { RouterError } from '../scope/router-error.ts'

/**
 * Answers with what `generateStaticParams` of a route names, as JSON: a list of parameter sets, empty where nothing generates
 * any. Kind `static-paths` of a request.
 */
export async function runStaticPaths(guest: GuestRequest): Promise<void> {
  const { route } = guest
  if (route === undefined) throw new RouterError('ROUTER_MISUSE', 'The request names no route.')
  const scope = openScope(guest, 'page')
  const { file, tree } = route
  const sets = await scope.run(() => staticParams(tree === null ? [{ file, exports: requireModule(file) }] : paramLevels(tree)))
  guest.emitComplete({ status: 200, headers: [['content-type', 'application/json']] }, JSON.stringify(sets ?? []))
}
