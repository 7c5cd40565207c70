import { createHash, timingSafeEqual } from 'node:crypto'
import { HostMatcher } from '@svc/http'
import { type CompiledTemplate, type GuardSpec, Pattern, parseSize, type RefererSpec, type SecureLinkSpec } from '@svc/vhosts'
import type { Templates } from './templates.ts'
import type { LocationVariables, VariableInput } from './variable-input.ts'

/** Compiles the variables whose value a location decides. */
export function compileLocationVariables({ referers, secureLink, rate }: GuardSpec, templates: Templates): LocationVariables {
  return {
    pace: compilePace(rate, templates),
    invalidReferer: referers === undefined ? nothing : refererCheck(referers),
    ...(secureLink === undefined ? noLink : linkCheck(secureLink, templates)),
  }
}

/** `limit_rate` and `limit_rate_after`. A `set $limit_rate` goes before them. */
function compilePace(rate: GuardSpec['rate'], templates: Templates): LocationVariables['pace'] {
  const limit = rate && templates.of(rate.limit)
  const after = rate && templates.of(rate.after)
  return (input) => {
    const bytesPerSecond = parseSize(input.variable('limit_rate') ?? limit?.read(input) ?? '') ?? 0
    if (bytesPerSecond === 0) return undefined
    return { bytesPerSecond, freeBytes: parseSize(after?.read(input) ?? '') ?? 0 }
  }
}

const nothing = () => ''
const noLink = { secureLink: nothing, secureLinkExpires: nothing }

/** Longest host name in a Referer field. */
const MAX_HOST = 256
const SCHEME = /^https?:\/\//i
/** Shorter texts are no URL. */
const MIN_URL = 'http://i.ru'.length

/** `$invalid_referer`: "1" for a Referer field that is not valid. */
function refererCheck(spec: RefererSpec): (input: VariableInput) => string {
  const hosts = new HostMatcher(spec.hosts.map(({ name, path }) => ({ hostnames: [name], isDefault: false, value: path })))
  const hostPatterns = spec.hostPatterns.map((pattern) => new Pattern(pattern))
  const patterns = spec.patterns.map((pattern) => new Pattern(pattern))
  const isValid = (referer: string | undefined): boolean => {
    if (referer === undefined) return spec.acceptsNone
    const scheme = referer.length >= MIN_URL ? SCHEME.exec(referer)?.[0] : undefined
    if (scheme === undefined) return spec.acceptsBlocked
    const rest = referer.slice(scheme.length)
    const [host = ''] = /^[^/:]*/.exec(rest) ?? []
    if (host.length > MAX_HOST) return false
    const found = hosts.match(host.toLowerCase())
    if (found !== undefined && found.kind !== 'default') {
      const slash = rest.indexOf('/', host.length)
      return found.value === '' || (slash !== -1 && rest.startsWith(found.value, slash))
    }
    // Its captures are no variables.
    const sink = { captures: [], setVariable: () => undefined }
    return (
      hostPatterns.some((pattern) => pattern.test(host.toLowerCase(), sink)) ||
      patterns.some((pattern) => pattern.test(rest, sink))
    )
  }
  return ({ context }) => (isValid(context.request.header('referer')) ? '' : '1')
}

const MD5_BYTES = 16
/** Base64 of an MD5, padded. */
const MAX_CHECKSUM = 24

function md5(text: string): Buffer {
  return createHash('md5').update(text, 'latin1').digest()
}

function linkCheck(spec: SecureLinkSpec, templates: Templates): Pick<LocationVariables, 'secureLink' | 'secureLinkExpires'> {
  if (spec.kind === 'secret') return { secureLink: (input) => linkBehindSecret(input, spec.secret), secureLinkExpires: nothing }
  const link = templates.of(spec.link)
  const text = templates.of(spec.text)
  return {
    secureLink: (input) => checkedLink(input, link, text),
    secureLinkExpires: (input) => partsOf(link.read(input)).expires ?? '',
  }
}

/** "1": the checksum is right; "0": it was, and its time is over; "": it is wrong. */
function checkedLink(input: VariableInput, link: CompiledTemplate<VariableInput>, text: CompiledTemplate<VariableInput>): string {
  const { checksum, expires } = partsOf(link.read(input))
  if (expires === '') return ''
  const [digits = ''] = checksum.split('=', 1)
  if (checksum.length > MAX_CHECKSUM || !/^[A-Za-z0-9_-]*$/.test(digits)) return ''
  const sent = Buffer.from(digits, 'base64url')
  if (sent.length !== MD5_BYTES || !timingSafeEqual(sent, md5(text.read(input)))) return ''
  return expires !== undefined && Number(expires) < Math.floor(Date.now() / 1000) ? '0' : '1'
}

function partsOf(link: string): { readonly checksum: string; readonly expires: string | undefined } {
  const comma = link.indexOf(',')
  if (comma === -1) return { checksum: link, expires: undefined }
  const expires = link.slice(comma + 1)
  return { checksum: link.slice(0, comma), expires: /^\d{1,15}$/.test(expires) && Number(expires) > 0 ? expires : '' }
}

/** `/prefix/checksum/link`: the link, if its checksum is right. */
function linkBehindSecret({ context }: VariableInput, secret: string): string {
  const match = /^.[^/]*\/([^/]*)\/(.+)$/s.exec(context.exchange.request.target)
  const [, checksum = '', link = ''] = match ?? []
  if (!/^[0-9a-f]{32}$/i.test(checksum)) return ''
  return timingSafeEqual(Buffer.from(checksum, 'hex'), md5(link + secret)) ? link : ''
}
