import { type HeaderList, type HttpRequest, parseHttpDate, urlOf } from '@svc/http'
import type { FileReceiver, FileTarget, FileVersion, StaticResource } from '../static/index.ts'
import type { FilePaths } from './file-path.ts'
import type { Outcome, PhaseRun } from './phase-run.ts'
import type { RunState } from './run-state.ts'
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
  return state.uri.endsWith('/') ? serveIndex(run, files) : serveFile(run, files)
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
  return run.fail(403)
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
  const found = tools.files.see(path)
  if (typeof found === 'string') {
    run.noteFound(path, found)
    if (found === 'directory') return run.redirect(301, urlOf(`${state.uri}/`, state.args))
    return run.fail(statusOf(found))
  }
  if (state.method === 'POST') return run.fail(405, ALLOW)
  state.context.pathGroup = 'static'
  let later: Outcome = 'answered'
  const target = targetOf(run, path, (outcome) => {
    later = outcome
  })
  return tools.fileHandler.answer(exchangeOf(state, found), target, found) ? later : run.fail(404)
}

function targetOf(run: PhaseRun, path: string, refused: (outcome: Outcome) => void): FileTarget {
  const { state, tools } = run
  return {
    source: tools.files,
    name: path,
    describe: describer(path, state.location.types.ofFile(state.uri)),
    refuse: (status, headers) => refused(run.fail(status, headers)),
    l0: {
      offer: (isCurrent) => run.offer(isCurrent),
      unsent: (file) => state.context.fillL0(file),
    },
  }
}

/** Files beside it with the ending of a coding are files of their own. */
function describer(name: string, contentType: string): FileTarget['describe'] {
  return (version): StaticResource => ({
    contentType,
    cacheControl: undefined,
    identity: { name, coding: 'identity', version },
    compressed: [],
  })
}

/** The page of an error is sent as it is: whole, whatever the client has already. */
function exchangeOf({ context, method, status }: RunState, version: FileVersion): FileReceiver {
  const { respond, stream, onClosed } = context.asExchange()
  const { request } = context
  const isPage = status !== undefined && status !== 200
  const header = isPage
    ? (name: string) => (name === 'accept-encoding' ? request.header(name) : undefined)
    : (name: string) => currentField(request, name, version)
  return { request: { method, header }, respond, stream, onClosed }
}

/** A client's copy is current only if it is as old as the file, to the second: an older file may have been restored. */
function currentField(request: HttpRequest, name: string, { lastModifiedMs }: FileVersion): string | undefined {
  const value = request.header(name)
  if (name !== 'if-modified-since' || value === undefined) return value
  return parseHttpDate(value) === Math.floor(lastModifiedMs / 1000) * 1000 ? value : undefined
}
