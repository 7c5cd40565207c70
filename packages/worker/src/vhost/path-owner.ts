import { decodePath } from '@svc/http'
import type { VhostMatch } from '../generation/host-routing.ts'
import type { RequestContext } from '../pipeline/request-context.ts'
import { RunState } from './run-state.ts'
import type { VhostRuntime } from './vhost-runtime.ts'

/** Whether a server claims a path for itself: by an `=` location, by a file, or by an application that may know it. */
export type PathClaim = { readonly kind: 'claimed' } | { readonly kind: 'free' } | { readonly kind: 'app'; readonly site: string }

/** Looks who answers a path, as far as that can be said without its rewriting. */
export function claimOf(context: RequestContext, vhost: VhostMatch, runtime: VhostRuntime): PathClaim {
  const path = decodePath(context.request.rawPath)
  if (path === undefined) return { kind: 'free' }
  const server = runtime.server(vhost.server)
  const state = new RunState(context, server, vhost, path)
  const choice = server.locations.find(path.path, state)
  if (choice.kind === 'location' && choice.isExact) return { kind: 'claimed' }
  state.location = choice.kind === 'none' ? server.fallback : choice.value
  const { content, rewrites } = state.location.settings
  if (rewrites.length > 0) return { kind: 'free' }
  if (content.kind === 'app') return { kind: 'app', site: content.site }
  const isFile = content.kind === 'files' && runtime.tools.files.look(state.fileName()) === 'file'
  return { kind: isFile ? 'claimed' : 'free' }
}
