import type { PatternSegment } from '../manifest/manifest.ts'

/** Meaning of a directory name in an app directory. */
export type SegmentName =
  | PatternSegment
  /** `(shop)`: groups files, adds nothing to the URL. */
  | { readonly kind: 'group' }
  /** `@cart`: a parallel slot of the layout beside it. */
  | { readonly kind: 'slot'; readonly name: string }
  /** `_lib`: never routed. */
  | { readonly kind: 'private' }
  /** Cannot be routed; `message` says why. */
  | { readonly kind: 'invalid'; readonly message: string }

const INTERCEPTING = /^\((?:\.{1,3})\)/

function invalid(message: string): SegmentName {
  return { kind: 'invalid', message }
}

function parseBrackets(name: string): SegmentName {
  const isOptional = name.startsWith('[[')
  let inner = isOptional ? name.slice(2, -2) : name.slice(1, -1)
  if (isOptional && !name.endsWith(']]')) return invalid(`the brackets of "${name}" do not pair up`)
  const isCatchAll = inner.startsWith('...')
  if (isCatchAll) inner = inner.slice(3)
  if (isOptional && !isCatchAll) return invalid(`optional parameters such as "${name}" do not exist; only [[...${inner}]] does`)
  if (inner === '' || inner === '__proto__') return invalid(`"${name}" has no parameter name`)
  if (inner.includes('[') || inner.includes(']')) return invalid(`parameter names must not contain brackets ("${name}")`)
  if (inner.startsWith('.')) return invalid(`parameter names must not begin with a full stop ("${name}")`)
  if (inner.startsWith('…')) return invalid(`"${name}" contains an ellipsis character instead of three dots`)
  if (!isCatchAll) return { kind: 'dynamic', name: inner }
  return { kind: isOptional ? 'optional-catch-all' : 'catch-all', name: inner }
}

/** Reads the name of a directory below the app directory. */
export function parseSegmentName(name: string): SegmentName {
  if (name.startsWith('_')) return { kind: 'private' }
  if (name.startsWith('@')) {
    if (name === '@' || name === '@children' || name === '@__proto__') return invalid(`"${name}" cannot be the name of a slot`)
    return { kind: 'slot', name: name.slice(1) }
  }
  if (INTERCEPTING.test(name)) return invalid(`intercepting routes such as "${name}" are not supported`)
  if (name.startsWith('(') && name.endsWith(')')) {
    return name.length > 2 ? { kind: 'group' } : invalid('a route group needs a name')
  }
  if (name.startsWith('[') && name.endsWith(']')) return parseBrackets(name)
  if (name.includes('[') || name.includes(']')) return invalid(`a parameter must be the whole name of a directory ("${name}")`)
  // A directory whose URL begins with an underscore is spelt %5F, since "_" alone makes it private.
  return { kind: 'static', value: name.replaceAll('%5F', '_') }
}

/** Returns true if a parsed name takes a part of the URL. */
export function isPatternSegment(name: SegmentName): name is PatternSegment {
  switch (name.kind) {
    case 'static':
    case 'dynamic':
    case 'catch-all':
    case 'optional-catch-all':
      return true
    default:
      return false
  }
}
