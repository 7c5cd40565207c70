import type { MetadataFile, PatternSegment, SegmentNode } from '../manifest/manifest.ts'
import { spellSegment } from '../manifest/pattern.ts'
import type { FileRole } from '../tree/conventions.ts'
import type { Directory } from '../tree/directory-tree.ts'
import { isPatternSegment } from '../tree/segment-name.ts'

/** The tree of one page. */
interface PageTree {
  readonly node: SegmentNode
  /** "none": neither a page nor a default for the main part; it can only be a 404. */
  readonly fit: Fit
}

/** How well the inside of a segment fits: its own page; a catch-all's page or a default; nothing. */
type Fit = 'page' | 'stand-in' | 'none'

/** A catch-all below a directory that takes the segments from `index` on. */
interface Cover {
  readonly index: number
  readonly segment: PatternSegment & { readonly name: string }
}

/** Parts of the head come from these; favicon, robots and sitemaps have none but the favicon's link. */
const isHeadTag = (file: MetadataFile) => file.type !== 'robots' && file.type !== 'sitemap'

const partNames = [
  ['layout', 'layout'],
  ['template', 'template'],
  ['loading', 'loading'],
  ['error', 'error'],
  ['notFound', 'not-found'],
] as const satisfies readonly (readonly [keyof SegmentNode, FileRole])[]

type Parts = Partial<Record<(typeof partNames)[number][0], string>>

function partsOf(directory: Directory): Parts {
  const parts: Parts = {}
  for (const [part, role] of partNames) {
    const file = directory.files.get(role)
    if (file !== undefined) parts[part] = file
  }
  return parts
}

function isCatchAll(segment: PatternSegment): segment is Cover['segment'] {
  return segment.kind === 'catch-all' || segment.kind === 'optional-catch-all'
}

/** Builds the trees of the pages of one app directory. */
export class PageTrees {
  readonly #root: Directory
  readonly #metadata: ReadonlyMap<Directory, readonly MetadataFile[]>

  constructor(root: Directory, metadata: ReadonlyMap<Directory, readonly MetadataFile[]>) {
    this.#root = root
    this.#metadata = metadata
  }

  /** The tree of the page at this pattern. One of the app directory's pages must have exactly this pattern. */
  build(segments: readonly PatternSegment[]): PageTree | undefined {
    return this.#match(this.#root, segments, 0)
  }

  /** The node of the app directory for paths that no route matches. */
  notFound(): SegmentNode {
    const slots: Record<string, SegmentNode | null> = {}
    for (const slot of this.#root.slots) slots[slot.segment.slice(1)] = this.#standIn(slot)
    return this.#node(this.#root, {}, slots)
  }

  #node(
    directory: Directory,
    inside: { page?: string; default?: string },
    slots: Record<string, SegmentNode | null>,
  ): SegmentNode {
    const name = directory.name
    const param = name !== null && isPatternSegment(name) && name.kind !== 'static' ? { param: name.name } : {}
    const metadata = Object.freeze((this.#metadata.get(directory) ?? []).filter(isHeadTag))
    const head = { segment: directory.segment, ...param, ...partsOf(directory) }
    return Object.freeze({ ...head, ...inside, metadata, slots: Object.freeze(slots) })
  }

  /** Content of a slot that has no page for a URL. Its own layout does not wrap it, as in Next.js. */
  #standIn(slot: Directory): SegmentNode | null {
    const file = slot.files.get('default')
    if (file === undefined) return null
    return Object.freeze({ segment: slot.segment, default: file, metadata: Object.freeze([]), slots: Object.freeze({}) })
  }

  /** Fits `segments` from `index` on into a directory; undefined when no page below it, in a slot or not, is there. */
  #match(directory: Directory, segments: readonly PatternSegment[], index: number): PageTree | undefined {
    const page = index === segments.length ? directory.files.get('page') : undefined
    const child = page === undefined ? this.#bestChild(directory, segments, index) : undefined
    const slots = directory.slots.map((slot) => [slot, this.#match(slot, segments, index)] as const)
    if (page === undefined && child === undefined && slots.every(([, built]) => built === undefined)) return undefined
    const nodes: Record<string, SegmentNode | null> = {}
    const main = page === undefined ? (child ?? this.#mainStandIn(directory, segments, index)) : undefined
    if (main !== undefined && 'node' in main) nodes.children = main.node
    for (const [slot, built] of slots) {
      nodes[slot.segment.slice(1)] = (built ?? this.#covered(slot, segments, index))?.node ?? this.#standIn(slot)
    }
    if (page !== undefined) return { node: this.#node(directory, { page }, nodes), fit: 'page' }
    if (main !== undefined && 'node' in main) return { node: this.#node(directory, {}, nodes), fit: main.fit }
    if (main !== undefined) return { node: this.#node(directory, main, nodes), fit: 'stand-in' }
    return { node: this.#node(directory, {}, { children: null, ...nodes }), fit: 'none' }
  }

  #bestChild(directory: Directory, segments: readonly PatternSegment[], index: number): PageTree | undefined {
    let best: PageTree | undefined
    for (const [child, next] of this.#candidates(directory, segments, index)) {
      const built = this.#match(child, segments, next)
      if (built?.fit === 'page') return built
      if (best === undefined || best.fit === 'none') best = built ?? best
    }
    return best
  }

  *#candidates(
    directory: Directory,
    segments: readonly PatternSegment[],
    index: number,
  ): Generator<readonly [Directory, number]> {
    const segment = segments[index]
    if (segment !== undefined) {
      for (const child of directory.children.get(spellSegment(segment)) ?? []) yield [child, index + 1]
    }
    for (const group of directory.groups) yield [group, index]
  }

  /** Content of `children` when only a slot has a page for the URL. */
  #mainStandIn(
    directory: Directory,
    segments: readonly PatternSegment[],
    index: number,
  ): PageTree | { readonly default: string } | undefined {
    const covered = this.#covered(directory, segments, index)
    if (covered !== undefined) return covered
    const file = directory.files.get('default')
    return file === undefined ? undefined : { default: file }
  }

  /** A catch-all below the directory shows for every URL that it covers and that has no page of its own there. */
  #covered(directory: Directory, segments: readonly PatternSegment[], index: number): PageTree | undefined {
    const cover = findCover(directory, segments, index)
    if (cover === undefined) return undefined
    const pattern = [...segments.slice(0, cover.index), cover.segment]
    const isSlot = directory.name?.kind === 'slot'
    const built = isSlot ? this.#match(directory, pattern, index) : this.#bestChild(directory, pattern, index)
    return built === undefined ? undefined : { node: built.node, fit: 'stand-in' }
  }
}

function findCover(directory: Directory, segments: readonly PatternSegment[], index: number): Cover | undefined {
  const segment = segments[index]
  if (segment !== undefined && !isCatchAll(segment)) {
    for (const child of directory.children.get(spellSegment(segment)) ?? []) {
      const cover = findCover(child, segments, index + 1)
      if (cover !== undefined) return cover
    }
  }
  for (const group of directory.groups) {
    const cover = findCover(group, segments, index)
    if (cover !== undefined) return cover
  }
  for (const child of [...directory.children.values()].flat()) {
    const name = child.name
    if (name === null || !isPatternSegment(name) || !isCatchAll(name) || !hasPage(child)) continue
    if (segment !== undefined || name.kind === 'optional-catch-all') return { index, segment: name }
  }
  return undefined
}

function hasPage(directory: Directory): boolean {
  return directory.files.has('page') || directory.groups.some(hasPage)
}
