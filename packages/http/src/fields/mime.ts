import { lookup } from 'mrmime'

/** Types for extensions that the table of `mrmime` lacks. */
const moreTypes: ReadonlyMap<string, string> = new Map([
  ['ico', 'image/x-icon'],
  ['eot', 'application/vnd.ms-fontobject'],
  ['jsonl', 'application/jsonl'],
  ['ndjson', 'application/x-ndjson'],
])

/** Type of a file with an unknown extension. */
const UNKNOWN_TYPE = 'application/octet-stream'

/**
 * Content-Type of a file by the extension of its name. Text is said to be UTF-8, but for XML, which states its encoding in
 * itself and would be overruled (RFC 7303 section 3.2).
 */
export function contentTypeOf(fileName: string): string {
  const dot = fileName.lastIndexOf('.')
  if (dot <= 0) return UNKNOWN_TYPE
  const extension = fileName.slice(dot + 1).toLowerCase()
  const type = moreTypes.get(extension) ?? lookup(extension) ?? UNKNOWN_TYPE
  return type.startsWith('text/') && type !== 'text/xml' ? `${type}; charset=utf-8` : type
}

/** Types outside of `text/*`, `*+json`, `*+xml` and `*+text` whose content gets smaller. */
const compressibleTypes: ReadonlySet<string> = new Set([
  'application/graphql',
  'application/javascript',
  'application/json',
  'application/json5',
  'application/jsonl',
  'application/ecmascript',
  'application/node',
  'application/rtf',
  'application/toml',
  'application/vnd.ms-fontobject',
  'application/wasm',
  'application/x-javascript',
  'application/x-ndjson',
  'application/x-sh',
  'application/x-www-form-urlencoded',
  'application/xml',
  'application/xml-dtd',
  'application/yaml',
  'font/otf',
  'font/ttf',
  'image/bmp',
  'image/x-icon',
  'image/vnd.microsoft.icon',
])

/**
 * Returns true if content of this type gets smaller when compressed. Event streams do not count: they live long, their messages are
 * small, and each would hold a compressor.
 */
export function isCompressibleType(contentType: string): boolean {
  const semicolon = contentType.indexOf(';')
  const type = (semicolon === -1 ? contentType : contentType.slice(0, semicolon)).trim().toLowerCase()
  if (type.startsWith('text/')) return type !== 'text/event-stream'
  return compressibleTypes.has(type) || /\+(?:json|xml|text|yaml)$/.test(type)
}
