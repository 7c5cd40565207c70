import { LocationTable, type ServerSpec } from '@svc/vhosts'
import { type CompiledLocation, type ContentHandlers, compileLocation } from './compiled-location.ts'
import { compileRewrites, type Rewritable, type RewriteOutcome } from './rewriting.ts'
import type { Templates } from './templates.ts'

/** A server, ready to answer. */
export interface CompiledServer {
  readonly spec: ServerSpec
  readonly rewrite: (request: Rewritable) => RewriteOutcome
  readonly locations: LocationTable<CompiledLocation>
  readonly fallback: CompiledLocation
}

/** Compiles a server. */
export function compileServer(spec: ServerSpec, templates: Templates, handlers: ContentHandlers): CompiledServer {
  const entries = spec.locations.map((location) => ({
    match: location.match,
    addsSlash: location.content.kind === 'proxy' || location.content.kind === 'fastcgi',
    value: compileLocation(location, templates, handlers),
  }))
  return {
    spec,
    rewrite: compileRewrites(spec.rewrites, templates),
    locations: new LocationTable(entries),
    fallback: compileLocation(spec.fallback, templates, handlers),
  }
}
