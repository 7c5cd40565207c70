import type { MetadataFile, PatternSegment, RouteKind, SiteProblem } from '../manifest/manifest.ts'
import { spellPattern } from '../manifest/pattern.ts'
import type { Directory, FoundMetadata } from '../tree/directory-tree.ts'
import { metadataSuffix } from '../tree/metadata-name.ts'
import { isPatternSegment } from '../tree/segment-name.ts'

/** Name of the parameter that stands for one of several sitemaps or images. */
const METADATA_ID = '__metadata_id__'

/** A file that wants to answer a URL pattern. */
export interface Claim {
  readonly kind: RouteKind
  readonly file: string
  readonly segments: readonly PatternSegment[]
  /** Its place in the layouts: "" or the path of its slot without groups, "/shop/@cart". */
  readonly slot: string
  readonly metadata: MetadataFile | null
}

/** All claims of an app directory, and the metadata files by directory. */
interface Claims {
  readonly list: readonly Claim[]
  readonly metadataByDirectory: ReadonlyMap<Directory, readonly MetadataFile[]>
}

interface Position {
  readonly segments: readonly PatternSegment[]
  /** Path below the app directory as the directories spell it: "" or "/(shop)/@cart". */
  readonly relative: string
  /** The same without groups. */
  readonly withoutGroups: string
  readonly slot: string
}

/** Why a pattern cannot work by itself, or undefined. */
function flawOf(segments: readonly PatternSegment[]): string | undefined {
  const names = new Map<string, string>()
  for (const [index, segment] of segments.entries()) {
    if (segment.kind === 'static') continue
    if (segment.kind !== 'dynamic' && index < segments.length - 1) {
      return `a catch-all must be the last part of the URL (${spellPattern(segments)})`
    }
    const word = segment.name.replace(/\W/g, '')
    const other = names.get(word)
    if (other === segment.name) return `the parameter "${segment.name}" is defined twice (${spellPattern(segments)})`
    if (other !== undefined) {
      return `the parameters "${other}" and "${segment.name}" differ only in punctuation (${spellPattern(segments)})`
    }
    names.set(word, segment.name)
  }
  return undefined
}

function positionBelow(position: Position, child: Directory): Position {
  const name = child.name
  const relative = `${position.relative}/${child.segment}`
  if (name === null || name.kind === 'group') return { ...position, relative }
  const withoutGroups = `${position.withoutGroups}/${child.segment}`
  if (name.kind === 'slot') return { ...position, relative, withoutGroups, slot: withoutGroups }
  return {
    ...position,
    relative,
    withoutGroups,
    segments: isPatternSegment(name) ? [...position.segments, name] : position.segments,
  }
}

/** Collects the claims of the files of an app directory. Patterns that cannot work become problems. */
export function collectClaims(root: Directory, problems: SiteProblem[]): Claims {
  const list: Claim[] = []
  const metadataByDirectory = new Map<Directory, readonly MetadataFile[]>()
  const add = (claim: Claim) => {
    const flaw = flawOf(claim.segments)
    if (flaw === undefined) list.push(claim)
    else problems.push({ severity: 'error', file: claim.file, message: flaw })
  }
  const visit = (directory: Directory, position: Position) => {
    const { segments, slot } = position
    const page = directory.files.get('page')
    const handler = directory.files.get('route')
    if (page !== undefined) add({ kind: 'page', file: page, segments, slot, metadata: null })
    if (handler !== undefined) add({ kind: 'handler', file: handler, segments, slot, metadata: null })
    const files = metadataFilesOf(directory, spellPattern(segments), position.relative)
    if (files.length > 0) metadataByDirectory.set(directory, files)
    for (const file of files) add(metadataClaim(file, position))
    for (const child of below(directory)) visit(child, positionBelow(position, child))
  }
  visit(root, { segments: [], relative: '', withoutGroups: '', slot: '' })
  return { list, metadataByDirectory }
}

function toMetadataFile(found: FoundMetadata, urlPrefix: string, directory: string): MetadataFile {
  const { type, stem, urlExtension, contentType } = found.name
  const base = `${urlPrefix === '/' ? '' : urlPrefix}/${stem}${metadataSuffix(type, directory)}`
  const pattern = found.hasIds ? `${base}/[${METADATA_ID}]` : `${base}${urlExtension}`
  const file: MetadataFile = { type, file: found.file, pattern, contentType, hasIds: found.hasIds }
  return Object.freeze(found.altFile === undefined ? file : { ...file, altFile: found.altFile })
}

/**
 * The metadata files of one directory with their URLs.
 * @param urlPrefix pattern of the directory's own URL
 * @param directory path below the app directory, groups and slots included
 */
function metadataFilesOf(directory: Directory, urlPrefix: string, relative: string): readonly MetadataFile[] {
  return directory.metadata.map((found) => toMetadataFile(found, urlPrefix, relative))
}

function metadataClaim(metadata: MetadataFile, { segments, slot }: Position): Claim {
  const tail: PatternSegment[] = metadata.pattern
    .slice(segments.length === 0 ? 1 : spellPattern(segments).length + 1)
    .split('/')
    .map((text) => (text.startsWith('[') ? { kind: 'dynamic', name: text.slice(1, -1) } : { kind: 'static', value: text }))
  return { kind: 'metadata', file: metadata.file, segments: [...segments, ...tail], slot, metadata }
}

function* below(directory: Directory): Generator<Directory> {
  yield* directory.groups
  yield* directory.slots
  for (const same of directory.children.values()) yield* same
}
