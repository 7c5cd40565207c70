import { isTooLongForSocket } from '@svc/vhosts'

/** Returns the error in a pattern, or undefined. */
export function checkPattern(pattern: string): string | undefined {
  const segments = pattern.slice(1).split('/')
  const bad = segments.find((segment, index) => !isSegment(segment, index === segments.length - 1))
  if (bad !== undefined) return `"${bad}" is not a valid segment: expected text, ":name", text with one "*", or "**" at the end`
  if (/[?#\s]/.test(pattern)) return 'expected a path without query, fragment and whitespace'
  if (segments.some((segment, index) => isEmptyInside(segment, index, segments.length)))
    return 'a path must not have an empty segment'
  if (segments.includes('.') || segments.includes('..')) return 'dot segments never match: paths are normalised first'
  const names = namesOf(pattern)
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  return twice === undefined ? undefined : `":${twice}" is defined twice`
}

/** Returns the error in the target of a redirect, or undefined. */
export function checkRedirect(target: string, pattern: string): string | undefined {
  if (hasControls(target)) return 'expected a URL or a path without whitespace and control characters'
  if (target.startsWith('//')) return 'a path that begins with two slashes names a host'
  if (target.startsWith('/')) return checkNames(target, pattern)
  const match = /^https?:\/\/([^/?#]+)/.exec(target)
  if (match === null) return 'expected a path, or a URL with http or https'
  const [, authority = ''] = match
  const isFilled = namesOf(pattern).some((name) => new RegExp(`:${name}(?!\\w)`).test(authority))
  if (isFilled || authority.includes('*')) return 'a request must not choose the host of a redirect'
  if (!URL.canParse(target)) return 'expected a path, or a URL with http or https'
  if (authority.includes('@')) return 'expected a URL without user'
  return checkNames(target.slice(match[0].length), pattern)
}

/** Returns the error in the path of a rewrite, or undefined. */
export function checkRewrite(target: string, pattern: string): string | undefined {
  if (hasControls(target) || target.includes('#') || /\\|%(?![\da-fA-F]{2})/.test(target.split('?')[0] ?? ''))
    return 'expected a path without whitespace, control characters and fragment'
  return checkNames(target, pattern)
}

/** Returns the error in an upstream, or undefined. */
export function checkUpstream(upstream: string, known: ReadonlySet<string>): string | undefined {
  if (known.has(upstream)) return undefined
  if (!upstream.includes('://')) return 'neither a URL nor the name of an upstream in a vhost file'
  const socket = /^https?:\/\/unix:(\/[^:?#\s]+)(?::\/[^?#\s]*)?$/.exec(upstream)?.[1]
  if (socket !== undefined) return isTooLongForSocket(socket) ? 'the path of the socket is too long' : undefined
  const url = URL.parse(upstream)
  const isHttp = url?.protocol === 'http:' || url?.protocol === 'https:'
  if (url === null || !isHttp) return 'expected a URL with http or https'
  if (!canBeUnescaped(`${url.username}:${url.password}`)) return 'user or password contains an invalid percent escape'
  return /[?#\s]/.test(upstream) ? 'expected a URL without query, fragment and whitespace' : undefined
}

function isSegment(segment: string, isLast: boolean): boolean {
  if (segment === '**') return isLast
  if (segment.startsWith(':')) return /^:[A-Za-z_]\w*$/.test(segment)
  return segment.split('*').length <= 2
}

function canBeUnescaped(text: string): boolean {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    // It throws for an invalid escape only.
    return false
  }
}

/** A slash at the end counts; two in a row are never in a path that rules see. */
function isEmptyInside(segment: string, index: number, count: number): boolean {
  return segment === '' && index < count - 1
}

function hasControls(text: string): boolean {
  return /[\s\p{Cc}]/u.test(text)
}

function namesOf(pattern: string): readonly string[] {
  return pattern.split('/').flatMap((segment) => (/^:[A-Za-z_]\w*$/.test(segment) ? [segment.slice(1)] : []))
}

/** A segment that is a name which the pattern does not have is a slip of the pen. */
function checkNames(target: string, pattern: string): string | undefined {
  const names = namesOf(pattern)
  const segments = (target.split(/[?#]/)[0] ?? '').split('/')
  const unknown = segments.find((segment) => /^:[A-Za-z_]\w*$/.test(segment) && !names.includes(segment.slice(1)))
  if (unknown !== undefined) return `the pattern has no "${unknown}"`
  const hasRest = pattern.split('/').at(-1) === '**'
  return target.includes('**') && !hasRest ? 'the pattern has no "**"' : undefined
}
