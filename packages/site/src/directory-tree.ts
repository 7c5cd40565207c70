import { type Dirent, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { codeOf, messageOf } from '@svc/core'
import { type FileRole, isPreferred, roleOf } from './conventions.ts'
import type { SiteProblem } from './manifest.ts'
import { type MetadataName, parseMetadataName } from './metadata-name.ts'
import { spellSegment } from './pattern.ts'
import { isPatternSegment, parseSegmentName, type SegmentName } from './segment-name.ts'

/** A metadata file as found in a directory. */
export interface FoundMetadata {
  readonly name: MetadataName
  readonly file: string
  readonly altFile?: string
  readonly hasIds: boolean
}

/** A routed directory with what its names say. Entries are in order of their names. */
export interface Directory {
  readonly path: string
  /** Name as written, "" for the app directory. */
  readonly segment: string
  /** Parsed name; null for the app directory. */
  readonly name: SegmentName | null
  readonly files: ReadonlyMap<FileRole, string>
  readonly metadata: readonly FoundMetadata[]
  readonly groups: readonly Directory[]
  readonly slots: readonly Directory[]
  /** Directories that take a part of the URL, by their spelling in a pattern. */
  readonly children: ReadonlyMap<string, readonly Directory[]>
}

/** What a walk through an app directory is told and what it collects besides the tree. */
export interface WalkContext {
  readonly appDir: string
  /** Names left out in the app directory itself (when it is the site's root). */
  readonly ignoredAtTop: ReadonlySet<string>
  readonly problems: SiteProblem[]
  /** Facts besides file names that the manifest depends on, for its version. */
  readonly seen: string[]
}

interface Place {
  readonly path: string
  readonly segment: string
  readonly name: SegmentName | null
  /** Real paths of the directories from the app directory to this one. */
  readonly realChain: readonly string[]
}

interface Listing {
  readonly files: string[]
  readonly directories: { name: string; realPath: string }[]
}

/** Past this many directories a walk stops. */
export const MAX_DIRECTORIES = 20_000
/** Past this many links to directories no more are followed: a few that name each other multiply what is on the disk without end. */
export const MAX_LINKS = 500

const ID_EXPORT =
  /\bexport\s+(?:(?:async\s+)?function|const|let|var)\s+(?:generateSitemaps|generateImageMetadata)\b|\bexport\s*\{[^}]*\b(?:generateSitemaps|generateImageMetadata)\b/

const byName = (left: { name: string }, right: { name: string }) => (left.name < right.name ? -1 : 1)

/**
 * Walks an app directory, reading one directory between two yields, so that the caller decides when others get a turn.
 * What cannot be read or routed becomes a problem, and the rest goes on.
 */
export function* walkDirectories(context: WalkContext): Generator<undefined, Directory> {
  const left: Budget = { directories: MAX_DIRECTORIES, links: MAX_LINKS }
  const start: Place = { path: context.appDir, segment: '', name: null, realChain: [realPathOf(context.appDir)] }
  const tree = yield* walk(start, context, left)
  if (left.directories < 0) report(context, `more than ${MAX_DIRECTORIES} directories; what comes after them is not served`)
  if (left.links < 0) report(context, `more than ${MAX_LINKS} links to directories; those after them are not followed`)
  return tree
}

/** How much more may be looked at; below zero: there would have been more. */
interface Budget {
  directories: number
  links: number
}

function report({ appDir, problems }: WalkContext, message: string): void {
  problems.push({ severity: 'error', file: appDir, message })
}

function realPathOf(directory: string): string {
  try {
    return realpathSync.native(directory)
  } catch {
    // Gone or closed since it was found: reading it says so in a moment.
    return directory
  }
}

function* walk(place: Place, context: WalkContext, left: Budget): Generator<undefined, Directory> {
  left.directories--
  const listing = list(place, context, left)
  yield
  const groups: Directory[] = []
  const slots: Directory[] = []
  const children = new Map<string, Directory[]>()
  for (const { name: segment, realPath } of listing.directories) {
    if (left.directories <= 0) {
      left.directories = -1
      break
    }
    const name = parseSegmentName(segment)
    const path = `${place.path}/${segment}`
    if (name.kind === 'private') continue
    if (name.kind === 'invalid') {
      context.problems.push({ severity: 'error', file: path, message: name.message })
      continue
    }
    const child = yield* walk({ path, segment, name, realChain: [...place.realChain, realPath] }, context, left)
    if (name.kind === 'group') groups.push(child)
    else if (name.kind === 'slot') {
      slots.push(child)
      context.seen.push(path)
    } else if (isPatternSegment(name)) children.set(spellSegment(name), [...(children.get(spellSegment(name)) ?? []), child])
  }
  const files = rolesIn(place, listing.files, context)
  const metadata = metadataIn(place, listing.files, context)
  return { path: place.path, segment: place.segment, name: place.name, files, metadata, groups, slots, children }
}

function list(place: Place, context: WalkContext, left: Budget): Listing {
  const listing: Listing = { files: [], directories: [] }
  let entries: Dirent[]
  try {
    entries = readdirSync(place.path, { withFileTypes: true })
  } catch (error) {
    context.problems.push({ severity: 'error', file: place.path, message: `cannot be read: ${messageOf(error)}` })
    return listing
  }
  for (const entry of entries.sort(byName)) {
    if (entry.name.startsWith('.') || entry.name === 'node_modules') continue
    if (place.segment === '' && context.ignoredAtTop.has(entry.name)) continue
    if (entry.isSymbolicLink()) addLink({ place, name: entry.name, listing, context, left })
    else if (entry.isFile()) listing.files.push(entry.name)
    else if (entry.isDirectory()) {
      listing.directories.push({ name: entry.name, realPath: `${place.realChain.at(-1)}/${entry.name}` })
    }
  }
  return listing
}

interface Link {
  readonly place: Place
  readonly name: string
  readonly listing: Listing
  readonly context: WalkContext
  readonly left: Budget
}

function addLink({ place, name, listing, context, left }: Link): void {
  const path = `${place.path}/${name}`
  try {
    const target = statSync(path)
    if (target.isFile()) listing.files.push(name)
    if (!target.isDirectory() || --left.links < 0) return
    const realPath = realpathSync.native(path)
    if (!place.realChain.includes(realPath)) listing.directories.push({ name, realPath })
    else context.problems.push({ severity: 'warning', file: path, message: `leads back to ${realPath} and is not followed` })
  } catch (error) {
    context.problems.push({ severity: 'warning', file: path, message: `broken link (${codeOf(error) ?? messageOf(error)})` })
  }
}

function rolesIn(place: Place, names: readonly string[], context: WalkContext): Map<FileRole, string> {
  const files = new Map<FileRole, string>()
  for (const name of names) {
    const role = roleOf(name)
    if (role === undefined) continue
    const file = `${place.path}/${name}`
    context.seen.push(file)
    const other = files.get(role)
    if (other === undefined) {
      files.set(role, file)
      continue
    }
    const [used, unused] = isPreferred(file, other) ? [file, other] : [other, file]
    files.set(role, used)
    context.problems.push({
      severity: 'error',
      file: unused,
      message: `${role} is there twice; this file is not used`,
      related: [used],
    })
  }
  return files
}

function metadataIn(place: Place, names: readonly string[], context: WalkContext): FoundMetadata[] {
  const found: FoundMetadata[] = []
  for (const fileName of names) {
    const name = parseMetadataName(fileName, place.segment === '')
    if (name === undefined) continue
    const file = `${place.path}/${fileName}`
    const alt = `${name.stem}.alt.txt`
    const hasIds = name.contentType === null && exportsIds(file, context)
    const hasAlt = name.type.endsWith('-image') && names.includes(alt)
    found.push({ name, file, hasIds, ...(hasAlt ? { altFile: `${place.path}/${alt}` } : {}) })
    context.seen.push(`${file}${hasIds ? '*' : ''}${hasAlt ? '+' : ''}`)
  }
  return found
}

/** The number of URLs of a metadata module depends on one export; a look at the text saves running it. */
function exportsIds(file: string, context: WalkContext): boolean {
  try {
    return ID_EXPORT.test(readFileSync(file, 'utf8'))
  } catch (error) {
    context.problems.push({ severity: 'error', file, message: `cannot be read: ${messageOf(error)}` })
    return false
  }
}
