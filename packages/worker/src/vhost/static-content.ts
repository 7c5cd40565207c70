import { type ContentCoding, type HeaderList, type HttpRequest, parseHttpDate, urlOf } from '@svc/http'
import type { FileTerms } from '@svc/vhosts'
import type { StageResult } from '../request/stage-result.ts'
import type { FileReceiver, FileTarget, FileVersion, StaticResource } from '../static/index.ts'
import type { FilePaths } from './file-path.ts'
import type { Outcome, PhaseRun } from './phase-run.ts'
import type { RunState } from './run-state.ts'
import { pickFile, sendListing } from './serve-directory.ts'
import { readForAnswer } from './templates.ts'
import type { Found } from './web-files.ts'

const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST'])
const ALLOW: HeaderList = [['allow', 'GET, HEAD']]

/** Answers with a file, or with the response for a directory. */
export function serveFiles(run: PhaseRun): Outcome {
  const { state } = run
  const { files } = state.location
  if (!METHODS.has(state.method)) return run.fail(405, ALLOW)
  if (files === undefined) return run.fail(404)
  // The path is not below the location any more.
  if (files.kind === 'alias' && !state.isPrefixValid) return run.fail(500)
  if (!state.uri.endsWith('/')) return serveFile(run, files)
  return state.location.settings.fileTerms?.hasRandomIndex === true ? serveAnyFile(run, files) : serveIndex(run, files)
}

async function serveAnyFile(run: PhaseRun, files: FilePaths): Promise<StageResult> {
  const { state } = run
  const dir = files.path(state, state.uri, state.addsUriToAlias)
  return dir === undefined ? run.fail(404) : ((await pickFile(run, dir)) ?? serveIndex(run, files))
}

function serveIndex(run: PhaseRun, files: FilePaths): Outcome {
  const { state } = run
  let isThere = false
  for (const template of state.location.index) {
    const name = readForAnswer(state, template)
    if (name.startsWith('/')) return run.goInside({ uri: name, args: state.args })
    const dir = files.path(state, state.uri, state.addsUriToAlias)
    if (dir === undefined) return run.fail(404)
    const found = run.look(dir + name)
    if (found === 'denied' || found === 'unreachable' || found === 'broken') return run.fail(statusOf(found))
    if (found !== 'missing') return run.goInside({ uri: state.uri + name, args: state.args })
    const status = isThere ? undefined : faultOfDirectory(run, dir)
    if (status !== undefined) return run.fail(status)
    isThere = true
  }
  return serveWithoutIndex(run, files)
}

function serveWithoutIndex(run: PhaseRun, files: FilePaths): Outcome {
  const { state } = run
  const listing = state.location.settings.fileTerms?.listing
  if (listing === undefined || state.method === 'POST') return run.fail(403)
  const dir = files.path(state, state.uri, state.addsUriToAlias)
  return dir === undefined ? run.fail(404) : sendListing(run, dir, listing)
}

function faultOfDirectory(run: PhaseRun, dir: string): number | undefined {
  const found = run.look(dir)
  if (found === 'directory') return undefined
  // Only an `alias` that names a file makes a directory of it.
  return found === 'file' || found === 'other' ? 500 : statusOf(found)
}

/** Response if there is no file to send. */
function statusOf(found: Found): number {
  if (found === 'denied') return 403
  return found === 'broken' ? 500 : 404
}

function serveFile(run: PhaseRun, files: FilePaths): Outcome {
  const { state, tools } = run
  const path = files.path(state, state.uri, state.addsUriToAlias)
  if (path === undefined) return run.fail(404)
  const choice = state.method === 'POST' ? undefined : state.location.precompressed?.choose(run, path)
  const varies = choice?.varies === true
  if (choice?.file !== undefined) {
    const { coding, version, path: name } = choice.file
    return sendFound(run, { name, coding, varies }, version)
  }
  const found = tools.files.see(path)
  if (typeof found !== 'string') return sendFound(run, { name: path, coding: 'identity', varies }, found)
  run.noteFound(path, found)
  if (found === 'directory') return run.redirect(301, urlOf(`${state.uri}/`, state.args))
  return run.fail(statusOf(found))
}

/** A file that was found. */
interface FoundFile {
  readonly name: string
  readonly coding: ContentCoding
  /** True if the client decides by Accept-Encoding which file it gets. */
  readonly varies: boolean
}

function sendFound(run: PhaseRun, file: FoundFile, version: FileVersion): Outcome {
  const { state, tools } = run
  if (state.method === 'POST') return run.fail(405, ALLOW)
  state.context.pathGroup = 'static'
  let later: Outcome = 'answered'
  const target = targetOf(run, file, (outcome) => {
    later = outcome
  })
  return tools.fileHandler.answer(exchangeOf(state, version), target, version) ? later : run.fail(404)
}

function targetOf(run: PhaseRun, file: FoundFile, refused: (outcome: Outcome) => void): FileTarget {
  const { state, tools } = run
  const { fileTerms } = state.location.settings
  const type = state.location.types.ofFile(state.uri)
  const isFiltered = state.location.subFilter?.isFor(state, type) === true
  // L0 cuts any ranges out of what it stores.
  if ((fileTerms?.maxRanges ?? 0) > 0) state.context.withdrawFromL0()
  return {
    source: tools.files,
    name: file.name,
    describe: describer(file, type, { ...fileTerms, isFiltered }),
    refuse: (status, headers) => refused(run.fail(status, status === 416 ? fieldsOfPart(state, headers) : headers)),
    l0: {
      offer: (isCurrent) => run.offer(isCurrent),
      unsent: (unsent) => state.context.fillL0(unsent),
    },
  }
}

/** Files beside it with the ending of a coding are files of their own. */
function describer(
  { name, coding, varies }: FoundFile,
  contentType: string,
  { hasEtag = true, maxRanges, isFiltered }: Partial<Pick<FileTerms, 'hasEtag' | 'maxRanges'>> & { isFiltered: boolean },
): FileTarget['describe'] {
  return (version): StaticResource => ({
    contentType,
    cacheControl: undefined,
    identity: { name, coding, version },
    compressed: [],
    varies,
    hasEtag,
    maxRanges: coding !== 'identity' || (isFiltered && version.size > 0) ? 0 : maxRanges,
  })
}

/** As with nginx, a range that cannot be satisfied has the fields of a response with a part; none of them describe the file. */
function fieldsOfPart(state: RunState, headers: HeaderList): HeaderList {
  const ofRange = headers.filter(([name]) => name === 'content-range')
  return state.location.addFields?.(state, { status: 206, headers: ofRange }).headers ?? ofRange
}

/** The page of an error is sent as it is: whole, whatever the client has already. */
function exchangeOf({ context, method, status, location }: RunState, version: FileVersion): FileReceiver {
  const { respond, stream, onClosed } = context.asExchange()
  const { request } = context
  const rule = location.settings.fileTerms?.ifModifiedSince ?? 'exact'
  const isPage = status !== undefined && status !== 200
  const header = isPage
    ? (name: string) => (name === 'accept-encoding' ? request.header(name) : undefined)
    : (name: string) => currentField(request, name, version, rule)
  return { request: { method, header }, respond, stream, onClosed }
}

/**
 * A field of a request about a file, with If-Modified-Since as `if_modified_since` says: by default a client's copy is current only
 * if it is as old as the file, to the second, because an older file may have been restored.
 */
export function currentField(
  request: HttpRequest,
  name: string,
  { lastModifiedMs }: Pick<FileVersion, 'lastModifiedMs'>,
  rule: FileTerms['ifModifiedSince'],
): string | undefined {
  const value = request.header(name)
  if (name !== 'if-modified-since' || value === undefined || rule === 'before') return value
  if (rule === 'off') return undefined
  return parseHttpDate(value) === Math.floor(lastModifiedMs / 1000) * 1000 ? value : undefined
}
