import * as answers from '../directives/answers.ts'
import * as compression from '../directives/compression.ts'
import { stubStatus } from '../directives/file-answers.ts'
import * as realIp from '../directives/real-ip.ts'
import * as rewriting from '../directives/rewriting.ts'
import * as serving from '../directives/serving.ts'
import { BUILT_IN_DEFAULT_TYPE, defaultType, typesBlock } from '../directives/types.ts'
import type { ContentSpec, FilesSpec, LocationSettings, RewriteStep } from '../spec/spec.ts'
import { accessLogsOf } from './access-logs.ts'
import { fileTermsOf, subFilterOf } from './file-terms.ts'
import { guardOf } from './guard.ts'
import { gzipTerms } from './gzip-terms.ts'
import type { Level } from './level.ts'

const DEFAULT_INDEX = [['index.html']] as const
/** Of nginx. */
const MAX_BODY_BYTES = 1024 * 1024

function filesSpec(level: Level): FilesSpec | undefined {
  const holder = level.holder(serving.root)
  const [dir] = holder?.own(serving.root) ?? []
  if (dir === undefined) return undefined
  const written = level.nearest(serving.index).flat()
  const match = dir.kind === 'alias' ? holder?.match : undefined
  const prefix = match !== undefined && 'path' in match ? match.path : ''
  return { ...dir, prefix, index: written.length > 0 ? written : DEFAULT_INDEX }
}

function authBasic(level: Level): LocationSettings['authBasic'] {
  const realm = level.value(answers.authBasic)
  const userFile = level.value(answers.authBasicUserFile)
  if (realm === undefined || realm === 'off' || userFile === undefined) return undefined
  return { realm, userFile }
}

function realIpOf(level: Level): LocationSettings['realIp'] {
  const from = level.nearest(realIp.setRealIpFrom)
  if (from.length === 0) return undefined
  return {
    from,
    field: level.value(realIp.realIpHeader) ?? 'x-real-ip',
    isRecursive: level.value(realIp.realIpRecursive) ?? false,
  }
}

/** Types of text that nginx names a charset for. */
const TEXT_TYPES = ['text/xml', 'text/plain', 'text/vnd.wap.wml', 'application/javascript', 'application/rss+xml']

function charsetOf(level: Level): LocationSettings['charset'] {
  const name = level.value(answers.charset)
  if (name === undefined || name === 'off') return undefined
  return { name, types: ['text/html', ...(level.value(answers.charsetTypes) ?? TEXT_TYPES)] }
}

/** With `types`, everything about types is as in nginx; without, this server knows the types of files. */
function typesOf(level: Level): Pick<LocationSettings, 'types' | 'defaultType'> {
  const types = level.holder(typesBlock)?.own(typesBlock)
  return { types, defaultType: level.value(defaultType) ?? (types === undefined ? undefined : BUILT_IN_DEFAULT_TYPE) }
}

/** An application's responses are compressed unless `gzip` is off, and on the terms of the server. */
function compressionOf(level: Level, content: ContentSpec): LocationSettings['compression'] {
  const isOn = level.value(compression.gzip)
  if (content.kind === 'app') return isOn === false ? 'off' : 'default'
  if (isOn !== true) return 'off'
  return gzipTerms(level)
}

function stallLimits(level: Level): LocationSettings['stallLimits'] {
  const bodyMs = level.value(answers.clientBodyTimeout)
  const sendMs = level.value(answers.sendTimeout)
  return bodyMs === undefined && sendMs === undefined ? undefined : { bodyMs, sendMs }
}

/** Settings for requests of a level: its own directives, and those that it inherits. */
export function settingsOf(level: Level, content: ContentSpec, rewrites: readonly RewriteStep[]): LocationSettings {
  return {
    rewrites,
    files: filesSpec(level),
    // Not inherited, as in nginx.
    tryFiles: level.own(rewriting.tryFiles)[0],
    addHeaders: level.nearest(answers.addHeader),
    expires: level.value(answers.expires),
    fileTerms: fileTermsOf(level),
    ...typesOf(level),
    charset: charsetOf(level),
    realIp: realIpOf(level),
    access: level.nearest(answers.allow),
    satisfiesAny: level.value(answers.satisfy) === 'any',
    authBasic: authBasic(level),
    subFilter: subFilterOf(level),
    stallLimits: stallLimits(level),
    hasCacheStatus: level.value(answers.svcCacheStatus) ?? content.kind === 'app',
    maxBodyBytes: level.value(answers.clientMaxBodySize) ?? (content.kind === 'app' ? undefined : MAX_BODY_BYTES),
    guard: guardOf(level),
    errorPages: level.nearest(rewriting.errorPage),
    // Unlike most flags, a location inherits it from the one around it.
    isInternal: level.nearest(answers.internal).length > 0,
    accessLogs: accessLogsOf(level),
    redirects: {
      isAbsolute: level.value(answers.absoluteRedirect) ?? true,
      hasPort: level.value(answers.portInRedirect) ?? true,
      hasServerName: level.value(answers.serverNameInRedirect) ?? false,
    },
    compression: compressionOf(level, content),
    content,
  }
}

/**
 * The handler of a location that names none: files, if it has a root of its own or its server has no
 * application; else that application.
 */
export function inheritedContent(level: Level, serverApp: ContentSpec | undefined): ContentSpec {
  const isOfFiles = level.context === 'location' && level.own(serving.root).length > 0
  return serverApp === undefined || isOfFiles ? { kind: 'files' } : serverApp
}

/** The handler of a server outside of its locations. */
export function fallbackContent(level: Level, serverApp: ContentSpec | undefined): ContentSpec {
  const status = level.own(stubStatus).find(({ kind }) => kind === 'stub_status')
  return status ?? inheritedContent(level, serverApp)
}

/** The application of a level itself. */
export function appOf(level: Level): serving.WrittenPath | undefined {
  const [content] = level.own(serving.svcApp)
  return content !== undefined && 'path' in content ? content : undefined
}
