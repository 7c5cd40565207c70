import * as directives from '../directives/resolver.ts'
import type { ResolverSpec } from '../spec/spec.ts'
import type { Level } from './level.ts'

const TIMEOUT_MS = 30_000

/** The name servers of a level; undefined: it has none. */
export function resolverSpec(level: Level): ResolverSpec | undefined {
  const written = level.value(directives.resolver)
  return written && { ...written, timeoutMs: level.value(directives.resolverTimeout) ?? TIMEOUT_MS }
}
