import { parseCount } from '../values/numbers.ts'
import { rule } from './rule.ts'

/** `etag`. */
export const etag = rule('etag', { args: 1, parse: (call) => call.flag(0) })

/** `if_modified_since`. */
export const ifModifiedSince = rule('if_modified_since', {
  args: 1,
  parse: (call) => call.oneOf(0, ['off', 'exact', 'before'] as const),
})

/** `max_ranges`. */
export const maxRanges = rule('max_ranges', {
  args: 1,
  parse: (call) => parseCount(call.arg(0)) ?? call.invalidValue(0, 'expected a number'),
})

/** `gzip_static`. */
export const gzipStatic = rule('gzip_static', { args: 1, parse: (call) => call.oneOf(0, ['off', 'on', 'always'] as const) })

/** `brotli_static`, of a module that does not come with nginx. */
export const brotliStatic = rule('brotli_static', {
  args: 1,
  parse: (call) => call.oneOf(0, ['off', 'on', 'always'] as const),
})

/** `autoindex`. */
export const autoindex = rule('autoindex', { args: 1, parse: (call) => call.flag(0) })

/** `autoindex_exact_size`. */
export const autoindexExactSize = rule('autoindex_exact_size', { args: 1, parse: (call) => call.flag(0) })

/** `autoindex_format`. */
export const autoindexFormat = rule('autoindex_format', {
  args: 1,
  parse: (call) => call.oneOf(0, ['html', 'xml', 'json', 'jsonp'] as const),
})

/** `autoindex_localtime`. */
export const autoindexLocaltime = rule('autoindex_localtime', { args: 1, parse: (call) => call.flag(0) })

/** `random_index`. */
export const randomIndex = rule('random_index', { in: ['location'], args: 1, parse: (call) => call.flag(0) })

/** `stub_status`. An argument has no meaning, as in nginx. */
export const stubStatus = rule('stub_status', {
  in: ['server', 'location'],
  args: [0, 1],
  slot: 'content',
  parse: () => ({ kind: 'stub_status' }) as const,
})

/** `empty_gif`. */
export const emptyGif = rule('empty_gif', {
  in: ['location'],
  args: 0,
  slot: 'content',
  parse: () => ({ kind: 'empty_gif' }) as const,
})
