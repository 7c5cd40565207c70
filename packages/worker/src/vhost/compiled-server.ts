import { entryOf } from '@svc/core'
import { parseHttpDate, type ResponseHead, withoutControls } from '@svc/http'
import {
  type CompiledTemplate,
  type ExpiresSpec,
  expiresFields,
  type FixedExpires,
  isPassed,
  type LimitZoneSpec,
  type LocationMatch,
  type LocationSettings,
  type LocationSpec,
  LocationTable,
  type RealIpSpec,
  readExpires,
  type ServerSpec,
} from '@svc/vhosts'
import type { CompressionTerms } from '../compression/index.ts'
import { RealIp } from '../request/real-ip.ts'
import { type AccessCheck, compileChecks } from './access-checks.ts'
import { compileCharset } from './charset.ts'
import type { FileLookup } from './conditions.ts'
import { compileFilePaths, type FilePaths, ScriptPaths } from './file-path.ts'
import { GzipTerms } from './gzip-terms.ts'
import type { LocationHandler, LocationHandlers } from './location-handler.ts'
import { compileLimits, type LimitCheck } from './location-limits.ts'
import { type CompiledLogs, compileLogs } from './location-logs.ts'
import { compileLocationVariables } from './location-variables.ts'
import type { MediaTypes, MediaTypeTables } from './media-types.ts'
import { Precompressed } from './precompressed.ts'
import { compileRewrites, type Rewritable, type RewriteOutcome } from './rewriting.ts'
import { SubFilter } from './sub-filter.ts'
import { readForAnswer, type Templates } from './templates.ts'
import type { LocationVariables, VariableInput } from './variable-input.ts'

/** A location, ready to be visited. */
export interface CompiledLocation {
  readonly settings: LocationSettings
  /** undefined: the settings where no location matches. */
  readonly match: LocationMatch | undefined
  readonly matchedPrefix: string
  readonly rewrite: (request: Rewritable<CompiledLocation>) => RewriteOutcome
  readonly files: FilePaths | undefined
  readonly index: readonly CompiledTemplate<VariableInput>[]
  readonly types: MediaTypes
  readonly subFilter: SubFilter | undefined
  /** undefined: there is none to be looked for. */
  readonly precompressed: Precompressed | undefined
  readonly realIp: RealIp | undefined
  readonly variables: LocationVariables
  readonly limits: LimitCheck | undefined
  /** Checks of access. */
  readonly checks: readonly AccessCheck[]
  readonly compression: CompressionTerms | undefined
  readonly logs: CompiledLogs
  readonly addFields: FieldAdder | undefined
  /** undefined: files or an application. */
  readonly handler: LocationHandler | undefined
  /** For a location with a FastCGI application. */
  readonly scripts: ScriptPaths | undefined
  /** Milliseconds for which the fields of a response are right. */
  readonly fieldsLastMs: number
  /** `limit_except`. */
  readonly limited: LimitedMethods | undefined
}

/** A location for all methods but some. */
interface LimitedMethods {
  readonly except: ReadonlySet<string>
  /** True if GET and HEAD are not treated alike, as L0 does. */
  readonly dividesHead: boolean
  readonly location: CompiledLocation
}

/** Dependencies of compiled servers. */
interface CompileTools {
  readonly templates: Templates
  readonly files: FileLookup
  readonly handlers: LocationHandlers
  readonly types: MediaTypeTables
  /** Of `limit_req_zone` and `limit_conn_zone`, by name. */
  readonly zones: ReadonlyMap<string, LimitZoneSpec>
  /** By what they are made of: a server's proxies are those of all its locations. */
  readonly realIps: Map<string, RealIp>
}

/** Kinds of `expires` whose fields do not change with time. */
const LASTING: ReadonlySet<ExpiresSpec['kind']> = new Set(['off', 'epoch', 'max'])

/** Compiles the settings of a location, of an `if` in one, or of a server outside all locations. */
function compileLocation(settings: LocationSettings, match: LocationMatch | undefined, tools: CompileTools): CompiledLocation {
  const { files, expires, content, fileTerms, subFilter } = settings
  const precompressed = fileTerms?.precompressed
  const { templates, handlers } = tools
  const types = tools.types.of(settings)
  const locationOf = (inner: LocationSettings) => compileLocation(inner, match, tools)
  return {
    settings,
    match,
    matchedPrefix: match !== undefined && 'path' in match ? match.path : '',
    rewrite: compileRewrites(settings.rewrites, { ...tools, locationOf }),
    files: files === undefined ? undefined : compileFilePaths(files, templates),
    index: (files?.index ?? []).map((name) => templates.of(name)),
    types,
    subFilter: subFilter === undefined ? undefined : new SubFilter(subFilter, templates),
    precompressed: precompressed === undefined ? undefined : new Precompressed(precompressed),
    realIp: compileRealIp(settings.realIp, tools),
    variables: compileLocationVariables(settings.guard, templates),
    limits: compileLimits(settings.guard, tools.zones, templates),
    checks: compileChecks(settings, templates),
    compression: typeof settings.compression === 'string' ? undefined : new GzipTerms(settings.compression),
    logs: compileLogs(settings, types, templates),
    addFields: compileFields(settings, types, templates),
    handler: isPassed(content) ? handlers.make(content) : undefined,
    scripts: isPassed(content) && content.kind !== 'proxy' ? new ScriptPaths(content, templates) : undefined,
    fieldsLastMs: expires === undefined || LASTING.has(expires.kind) ? Number.POSITIVE_INFINITY : 1000,
    limited: undefined,
  }
}

function compileRealIp(spec: RealIpSpec | undefined, { realIps }: CompileTools): RealIp | undefined {
  return spec === undefined ? undefined : entryOf(realIps, JSON.stringify(spec), () => new RealIp(spec))
}

/** Adds the fields of a location to the head of a response. */
type FieldAdder = (input: VariableInput, head: ResponseHead) => ResponseHead

type Fields = (readonly [name: string, value: string])[]

/** Statuses that get fields without `always`. */
const PLAIN_STATUSES: ReadonlySet<number> = new Set([200, 201, 204, 206, 301, 302, 303, 304, 307, 308])
/** Redirects of which nginx does not name the charset. */
const WITHOUT_CHARSET: ReadonlySet<number> = new Set([301, 302])
/** Fields that a response has at most once: an added field replaces the present one. */
const SINGLE_FIELDS: ReadonlySet<string> = new Set(['content-type', 'etag', 'last-modified'])

/** Compiles `add_header`, `expires` and `charset`; undefined when there are none. */
function compileFields(settings: LocationSettings, types: MediaTypes, templates: Templates): FieldAdder | undefined {
  const { addHeaders, expires } = settings
  const isOfFile = settings.content.kind === 'files'
  const isCharsetAdded = isOfFile && types.addsCharset
  const addCharset = compileCharset(settings, isCharsetAdded, templates)
  if (addHeaders.length === 0 && (expires === undefined || expires.kind === 'off') && addCharset === undefined) return undefined
  const added = addHeaders.map(({ name, value, isAlways }) => ({
    name: name.toLowerCase(),
    value: templates.of(value),
    isAlways,
  }))
  return (input, head) => {
    const isPlain = PLAIN_STATUSES.has(head.status)
    let headers: Fields = [...head.headers]
    const rule = isPlain && expires !== undefined ? expiresOf(input, expires, templates) : undefined
    if (rule !== undefined) headers = withExpires(input, headers, rule)
    input.sentHeaders = headers
    // nginx cuts ranges out of files later.
    input.sentStatus = isOfFile && head.status === 206 ? 200 : head.status
    input.isCharsetAdded = isCharsetAdded
    for (const { name, value, isAlways } of added) {
      if (!isPlain && !isAlways) continue
      const text = withoutControls(readForAnswer(input, value))
      if (SINGLE_FIELDS.has(name)) headers = headers.filter(([known]) => known.toLowerCase() !== name)
      if (text !== '') headers.push([name, text])
    }
    const isNamed = addCharset !== undefined && !WITHOUT_CHARSET.has(head.status)
    return { status: head.status, headers: isNamed ? addCharset(input, headers) : headers }
  }
}

/** The rule of `expires` for a request. */
function expiresOf(input: VariableInput, rule: ExpiresSpec, templates: Templates): FixedExpires | undefined {
  if (rule.kind !== 'computed') return rule
  const read = readExpires(readForAnswer(input, templates.of(rule.value)), rule.isFromModified)
  return read === 'too late' ? undefined : read
}

function withExpires({ context }: VariableInput, headers: Fields, rule: FixedExpires): Fields {
  const modified = headers.find(([name]) => name.toLowerCase() === 'last-modified')?.[1]
  const fields = expiresFields(rule, modified === undefined ? undefined : parseHttpDate(modified), Date.now())
  if (fields === undefined) return headers
  // Replaces lifetime fields that were set before an inner redirect led here.
  if (context.responseHeaders.length > 0) context.responseHeaders = context.responseHeaders.filter(isNotOfLifetime)
  return [...headers.filter(isNotOfLifetime), ['expires', fields.expires], ['cache-control', fields.cacheControl]]
}

function isNotOfLifetime([name]: readonly [name: string, value: string]): boolean {
  const lower = name.toLowerCase()
  return lower !== 'expires' && lower !== 'cache-control'
}

/** A server, ready to answer. */
export interface CompiledServer {
  readonly spec: ServerSpec
  readonly rewrite: (request: Rewritable<CompiledLocation>) => RewriteOutcome
  readonly locations: LocationTable<CompiledLocation>
  readonly fallback: CompiledLocation
}

function compileLocations(locations: readonly LocationSpec[], tools: CompileTools): LocationTable<CompiledLocation> {
  return new LocationTable(
    locations.map((location) => ({
      match: location.match,
      addsSlash: isPassed(location.content),
      value: { ...compileLocation(location, location.match, tools), limited: compileLimited(location, tools) },
      nested: location.locations.length === 0 ? undefined : compileLocations(location.locations, tools),
    })),
  )
}

function compileLimited({ limitExcept, match }: LocationSpec, tools: CompileTools): LimitedMethods | undefined {
  if (limitExcept === undefined) return undefined
  const except = new Set(limitExcept.methods)
  const dividesHead = except.has('GET') !== except.has('HEAD')
  return { except, dividesHead, location: compileLocation(limitExcept.settings, match, tools) }
}

/** Compiles a server. */
export function compileServer(spec: ServerSpec, tools: CompileTools): CompiledServer {
  const fallback = compileLocation(spec.fallback, undefined, tools)
  return {
    spec,
    rewrite: compileRewrites(spec.rewrites, { ...tools, locationOf: () => fallback }),
    locations: compileLocations(spec.locations, tools),
    fallback,
  }
}
