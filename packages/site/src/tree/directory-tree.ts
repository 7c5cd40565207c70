import type { Dirent } from 'node:fs'
import { codeOf, messageOf } from '@svc/core'
import type { SiteProblem } from '../manifest/manifest.ts'
import { spellSegment } from '../manifest/pattern.ts'
import { type FileRole, isPreferred, roleOf, STATIC_PARAMS } from './conventions.ts'
import { type MetadataName, parseMetadataName } from './metadata-name.ts'
import { isPatternSegment, parseSegmentName, type SegmentName } from './segment-name.ts'
import type { SiteFiles } from './site-files.ts'

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

/** Inputs of a scan of an app directory, and its results besides the tree. */
export interface ScanContext {
  readonly appDir: string
  /** Names left out in the app directory itself (when it is the site's root). */
  readonly ignoredAtTop: ReadonlySet<string>
  readonly files: SiteFiles
  readonly problems: SiteProblem[]
  /** Facts besides file names that the manifest depends on, for its version. */
  readonly seen: string[]
  /** Told of every file of a routed directory, also of those that follow no convention. */
  readonly onFile: (file: FoundFile) => void
}

/** A file of a routed directory. */
export interface FoundFile {
  readonly directory: string
  readonly name: string
  /** True if the directory is the app directory itself. */
  readonly isTop: boolean
}

interface OpenDirectory {
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

/** Past this many directories a scan stops. */
const MAX_DIRECTORIES = 20_000
/** Past this many links to directories no more are followed: a few that name each other make an endless tree. */
export const MAX_LINKS = 500
/** Directories below each other. */
export const MAX_DEPTH = 64

/**
 * Walks an app directory. Links are followed as long as they stay in the site's directory. Directories that cannot be read or routed become
 * a problem, and the rest goes on; of a directory that cannot be listed whole nothing is served, since its layout may guard it.
 */
export function scanDirectories(context: ScanContext): Directory {
  const { appDir, files } = context
  const left: Budget = { directories: MAX_DIRECTORIES, links: MAX_LINKS }
  const tree = scanDirectory({ path: appDir, segment: '', name: null, realChain: [files.realPath(appDir)] }, context, left)
  if (left.directories < 0) report(context, `more than ${MAX_DIRECTORIES} directories; those after them are not served`)
  if (left.links < 0) report(context, `more than ${MAX_LINKS} links to directories; those after them are not followed`)
  return tree
}

/** How much more may be looked at; below zero: there would have been more. */
interface Budget {
  directories: number
  links: number
}

function report({ appDir, problems }: ScanContext, message: string): void {
  problems.push({ severity: 'error', file: appDir, message })
}

function leadsOut(realPath: string): string {
  return `leads to ${realPath}, outside of the site's directory, and is not followed: copy it into the site`
}

function scanDirectory(directory: OpenDirectory, context: ScanContext, left: Budget): Directory {
  left.directories--
  const listing = list(directory, context, left)
  const groups: Directory[] = []
  const slots: Directory[] = []
  const children = new Map<string, Directory[]>()
  for (const { name: segment, realPath } of listing.directories) {
    if (left.directories <= 0) {
      left.directories = -1
      break
    }
    const name = parseSegmentName(segment)
    const path = `${directory.path}/${segment}`
    if (name.kind === 'private') continue
    const flaw = name.kind === 'invalid' ? name.message : directory.realChain.length >= MAX_DEPTH ? tooDeep : undefined
    if (flaw !== undefined || name.kind === 'invalid') {
      context.problems.push({ severity: 'error', file: path, message: flaw ?? '' })
      continue
    }
    const child = scanDirectory({ path, segment, name, realChain: [...directory.realChain, realPath] }, context, left)
    if (name.kind === 'group') groups.push(child)
    else if (name.kind === 'slot') {
      slots.push(child)
      context.seen.push(path)
    } else if (isPatternSegment(name)) children.set(spellSegment(name), [...(children.get(spellSegment(name)) ?? []), child])
  }
  const files = rolesIn(directory, listing.files, context)
  const metadata = metadataIn(directory, listing.files, context)
  return { path: directory.path, segment: directory.segment, name: directory.name, files, metadata, groups, slots, children }
}

const tooDeep = `is more than ${MAX_DEPTH} directories deep and is not served`

function list(directory: OpenDirectory, context: ScanContext, left: Budget): Listing {
  const listing: Listing = { files: [], directories: [] }
  let entries: Dirent[]
  try {
    entries = context.files.entries(directory.path)
  } catch (error) {
    const message = `cannot be read, and nothing in it is served: ${messageOf(error)}`
    context.problems.push({ severity: 'error', file: directory.path, message })
    return listing
  }
  const isTop = directory.segment === ''
  for (const entry of entries) {
    if (entry.name.startsWith('.') || entry.name === 'node_modules') continue
    if (isTop && context.ignoredAtTop.has(entry.name)) continue
    if (entry.isSymbolicLink()) addLink({ directory, name: entry.name, listing, context, left })
    else if (entry.isDirectory()) {
      listing.directories.push({ name: entry.name, realPath: `${directory.realChain.at(-1)}/${entry.name}` })
    } else if (entry.isFile() || isMeant(entry.name)) listing.files.push(entry.name)
  }
  for (const name of listing.files) context.onFile({ directory: directory.path, name, isTop })
  return listing
}

/**
 * True if a file that cannot be read stays in the tree: a layout or a handler that is there but cannot be loaded is an error of
 * each request, never left out, since it may be what guards the rest.
 */
function isMeant(name: string): boolean {
  return roleOf(name) !== undefined || parseMetadataName(name, true)?.contentType === null
}

interface Link {
  readonly directory: OpenDirectory
  readonly name: string
  readonly listing: Listing
  readonly context: ScanContext
  readonly left: Budget
}

function addLink({ directory, name, listing, context, left }: Link): void {
  const path = `${directory.path}/${name}`
  const warn = (message: string) => context.problems.push({ severity: 'warning', file: path, message })
  try {
    const { stats, realPath, isInside } = context.files.target(path)
    if (!stats.isDirectory()) {
      if ((isInside && stats.isFile()) || isMeant(name)) listing.files.push(name)
      else if (!isInside && parseMetadataName(name, directory.segment === '') !== undefined) warn(leadsOut(realPath))
      return
    }
    if (--left.links < 0) return
    if (!isInside) context.problems.push({ severity: 'error', file: path, message: leadsOut(realPath) })
    else if (directory.realChain.includes(realPath)) warn(`leads back to ${realPath} and is not followed`)
    else listing.directories.push({ name, realPath })
  } catch (error) {
    if (isMeant(name)) listing.files.push(name)
    else warn(`broken link (${codeOf(error) ?? messageOf(error)})`)
  }
}

function rolesIn(directory: OpenDirectory, names: readonly string[], context: ScanContext): Map<FileRole, string> {
  const files = new Map<FileRole, string>()
  for (const name of names) {
    const role = roleOf(name)
    if (role === undefined) continue
    const file = `${directory.path}/${name}`
    context.seen.push(context.files.exports(file, STATIC_PARAMS) ? `${file}$` : file)
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
      message: `${role} is defined twice; this file is not used`,
      related: [used],
    })
  }
  return files
}

function metadataIn(directory: OpenDirectory, names: readonly string[], context: ScanContext): FoundMetadata[] {
  const found: FoundMetadata[] = []
  const all = new Set(names)
  for (const fileName of names) {
    const name = parseMetadataName(fileName, directory.segment === '')
    if (name === undefined) continue
    const file = `${directory.path}/${fileName}`
    const alt = `${name.stem}.alt.txt`
    // The number of URLs of a metadata module depends on one export; a look at the text saves running it.
    const hasIds = name.contentType === null && idExports.some((id) => context.files.exports(file, id))
    const hasAlt = name.type.endsWith('-image') && all.has(alt)
    found.push({ name, file, hasIds, ...(hasAlt ? { altFile: `${directory.path}/${alt}` } : {}) })
    context.seen.push(`${file}${hasIds ? '*' : ''}${hasAlt ? '+' : ''}`)
  }
  return found
}

const idExports = ['generateSitemaps', 'generateImageMetadata']
