import * as compression from '../directives/compression.ts'
import type { CompressionSpec } from '../spec/spec.ts'
import type { Level } from './level.ts'

/** Of nginx. */
const MIN_COMPRESSED_BYTES = 20

/** The terms of `gzip` at a level, be it on or not. */
export function gzipTerms(level: Level): CompressionSpec {
  const proxied = level.nearest(compression.gzipProxied).flat()
  return {
    types: level.value(compression.gzipTypes) ?? [],
    minBytes: level.value(compression.gzipMinLength) ?? MIN_COMPRESSED_BYTES,
    proxied: proxied.length === 0 ? ['off'] : proxied,
    httpVersion: level.value(compression.gzipHttpVersion) ?? '1.1',
    disabled: level.nearest(compression.gzipDisable).flat(),
    hasVary: level.value(compression.gzipVary) ?? false,
  }
}
