import { lstat, opendir, stat } from 'node:fs/promises'
import { codeOf } from '@svc/core'
import type { ListingSpec } from '@svc/vhosts'
import { StaticError } from '../errors/errors.ts'
import type { StageResult } from '../request/stage-result.ts'
import { DENIED_CODES, unreadable } from '../static/index.ts'
import { answerByConditions } from './bare-conditions.ts'
import { LISTING_TYPES, type ListedEntry, listDirectory } from './directory-listing.ts'
import type { PhaseRun } from './phase-run.ts'
import { readForAnswer } from './templates.ts'

/** A directory with more is not listed: the list would take too long, and too much memory. */
const MAX_ENTRIES = 10_000
/** Entries that are looked at together. */
const BATCH = 32
const MISSING_CODES: ReadonlySet<string | undefined> = new Set(['ENOENT', 'ENOTDIR', 'ENAMETOOLONG'])
const MAX_CALLBACK_CHARS = 128

/** Answers with the list of a directory. */
export async function sendListing(run: PhaseRun, dir: string, spec: ListingSpec): Promise<StageResult> {
  const callback = spec.format === 'jsonp' ? callbackOf(run.state.args) : ''
  if (callback === undefined) return run.fail(400)
  const names = await namesIn(run, dir)
  if (typeof names === 'number') return run.fail(names)
  const entries = await entriesOf(dir, names)
  const { context, uri, location } = run.state
  const { charset } = location.settings
  const isUtf8 = charset !== undefined && readForAnswer(run.state, run.tools.templates.of(charset.name)).toLowerCase() === 'utf-8'
  const text = listDirectory({ uri, entries: entries.toSorted(inOrder), spec, isUtf8, callback })
  const type = spec.format === 'jsonp' && callback === '' ? LISTING_TYPES.json : LISTING_TYPES[spec.format]
  const ended = answerByConditions(run)
  if (ended !== undefined) return ended
  context.respondCompressed({ status: 200, headers: [['content-type', type]] }, Buffer.from(text, 'latin1'))
  return 'answered'
}

/** Goes on with any file of a directory. undefined: it has none. */
export async function pickFile(run: PhaseRun, dir: string): Promise<StageResult | undefined> {
  const { state } = run
  state.context.withdrawFromL0()
  const names = await namesIn(run, dir)
  if (typeof names === 'number') return names === 404 ? undefined : run.fail(names)
  const files = (await entriesOf(dir, names)).filter(({ type }) => type === 'file')
  const picked = files[Math.floor(Math.random() * files.length)]
  return picked === undefined ? undefined : run.goInside({ uri: state.uri + picked.name, args: state.args })
}

/** The name of the function in the arguments; "": none. undefined: it is no name. */
function callbackOf(args: string): string | undefined {
  const value = args.split('&').find((pair) => pair.startsWith('callback='))
  const name = value?.slice('callback='.length) ?? ''
  return name.length <= MAX_CALLBACK_CHARS && /^[\w.]*$/.test(name) ? name : undefined
}

/** Names in a directory without the hidden ones, or the status that says why there are none. */
async function namesIn(run: PhaseRun, dir: string): Promise<readonly string[] | number> {
  const names: string[] = []
  try {
    const dirents = await opendir(pathOf(dir), { encoding: 'latin1' })
    for await (const { name } of dirents) {
      if (name.startsWith('.')) continue
      names.push(name)
      if (names.length > MAX_ENTRIES)
        throw new StaticError('STATIC_READ_FAILED', `${dir} has more than ${MAX_ENTRIES} entries: it is not listed`)
    }
    return names
  } catch (error) {
    const code = codeOf(error)
    if (MISSING_CODES.has(code)) return 404
    run.tools.onProblem(error instanceof StaticError ? error : unreadable(dir, error))
    return DENIED_CODES.has(code) ? 403 : 500
  }
}

function pathOf(bytes: string): Buffer {
  return Buffer.from(bytes, 'latin1')
}

async function entriesOf(dir: string, names: readonly string[]): Promise<ListedEntry[]> {
  const entries: ListedEntry[] = []
  for (let at = 0; at < names.length; at += BATCH) {
    const found = await Promise.all(names.slice(at, at + BATCH).map((name) => entryOf(dir, name)))
    entries.push(...found.filter((entry) => entry !== undefined))
  }
  return entries
}

/** A link that leads nowhere is an entry by itself. undefined: it is gone. */
async function entryOf(dir: string, name: string): Promise<ListedEntry | undefined> {
  const path = pathOf(dir + name)
  const found = await stat(path).catch(() => lstat(path).catch(() => undefined))
  if (found === undefined) return undefined
  const type = found.isFile() ? 'file' : found.isDirectory() ? 'directory' : 'other'
  return { name, type, size: found.size, modifiedMs: found.mtimeMs }
}

/** Directories come first, then by the bytes of the names. */
function inOrder(one: ListedEntry, other: ListedEntry): number {
  const rank = ({ type }: ListedEntry) => (type === 'directory' ? 0 : 1)
  return rank(one) - rank(other) || (one.name < other.name ? -1 : 1)
}
