import type { CompiledTemplate, LocationMatch, LocationSettings, LocationSpec } from '@svc/vhosts'
import { type AccessCheck, compileAccess } from './access.ts'
import { compileFields, type FieldAdder } from './answer-fields.ts'
import type { ContentHandler } from './content.ts'
import { compileFilePaths, type FilePaths } from './file-path.ts'
import { compileRewrites, type Rewritable, type RewriteOutcome } from './rewriting.ts'
import type { Scope } from './scope.ts'
import { ScriptPaths } from './script-path.ts'
import type { Templates } from './templates.ts'

/** Makes the content of locations that send requests on. */
export interface ContentHandlers {
  /** Called once for each location of a generation, at its first request. */
  make(settings: LocationSettings): ContentHandler
}

/** A location, ready to be visited. */
export interface CompiledLocation {
  readonly settings: LocationSettings
  /** undefined: what holds where no location matches. */
  readonly match: LocationMatch | undefined
  readonly matchedPrefix: string
  readonly rewrite: (request: Rewritable) => RewriteOutcome
  readonly files: FilePaths | undefined
  readonly index: readonly CompiledTemplate<Scope>[]
  readonly access: AccessCheck | undefined
  readonly addFields: FieldAdder | undefined
  readonly handler: () => ContentHandler
  /** For a location with a FastCGI application. */
  readonly scripts: ScriptPaths | undefined
  /** Milliseconds for which the fields of an answer are right. */
  readonly fieldsLastMs: number
}

/** Compiles what is set for a location, or for a server outside of all. */
export function compileLocation(
  settings: LocationSettings | LocationSpec,
  templates: Templates,
  handlers: ContentHandlers,
): CompiledLocation {
  const match = 'match' in settings ? settings.match : undefined
  const { files, expires, content } = settings
  let handler: ContentHandler | undefined
  return {
    settings,
    match,
    matchedPrefix: match !== undefined && 'path' in match ? match.path : '',
    // The server's own have run by then.
    rewrite: compileRewrites(match === undefined ? [] : settings.rewrites, templates),
    files: files === undefined ? undefined : compileFilePaths(files, match, templates),
    index: (files?.index ?? []).map((name) => templates.of(name)),
    access: compileAccess(settings.access),
    addFields: compileFields(settings, templates),
    handler() {
      handler ??= handlers.make(settings)
      return handler
    },
    scripts: content.kind === 'fastcgi' ? new ScriptPaths(content, templates) : undefined,
    fieldsLastMs: expires?.kind === 'after' || expires?.kind === 'daily' ? 1000 : Number.POSITIVE_INFINITY,
  }
}
