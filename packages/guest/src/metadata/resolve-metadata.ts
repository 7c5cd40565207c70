import { defaultViewport } from './head-tags.ts'
import { emptyMetadata, isRecord, mergeMetadata, noTemplates, type TitleTemplates, templatesOf } from './merge-metadata.ts'
import type { MetadataExport, MetadataFileTag, ResolvedMetadata } from './tag-list.ts'

/** Exports of one layout or page about the head. */
export interface MetadataLevel {
  /** Exports of the module; null: the segment has no layout (it still counts for title templates). */
  readonly exports: Readonly<Record<string, unknown>> | null
  /** First argument of `generateMetadata` and `generateViewport`. */
  readonly props: object
  /** Images and manifest of the segment; never rejects. */
  readonly files: readonly MetadataFileTag[] | Promise<readonly MetadataFileTag[]>
}

/** Head of a page before it becomes tags. */
export interface ResolvedHead {
  readonly metadata: ResolvedMetadata
  readonly viewport: MetadataExport
}

/**
 * Merges the levels from the root down; the last is the page. Returns at once when no level has anything to generate, so
 * that a page with constant metadata costs no promise. All `generate*` functions start together; each gets a promise of
 * what is merged above it. Rejects with whatever one of them throws.
 */
export function resolveHead(levels: readonly MetadataLevel[]): ResolvedHead | Promise<ResolvedHead> {
  return levels.every(isConstant) ? resolveConstant(levels) : resolveGenerated(levels)
}

type ConstantLevel = MetadataLevel & { readonly files: readonly MetadataFileTag[] }

function isConstant(level: MetadataLevel): level is ConstantLevel {
  const { exports, files } = level
  return !(isFunction(exports?.['generateMetadata']) || isFunction(exports?.['generateViewport']) || files instanceof Promise)
}

function resolveConstant(levels: readonly ConstantLevel[]): ResolvedHead {
  let metadata = emptyMetadata
  let templates = noTemplates
  let viewport = defaultViewport
  for (const [index, level] of levels.entries()) {
    metadata = mergeMetadata(metadata, recordOf(level.exports?.['metadata']), templates, level.files)
    templates = nextTemplates(metadata, templates, index, levels.length)
    viewport = mergeViewport(viewport, level.exports?.['viewport'])
  }
  return { metadata, viewport }
}

async function resolveGenerated(levels: readonly MetadataLevel[]): Promise<ResolvedHead> {
  let merged: Promise<{ metadata: ResolvedMetadata; templates: TitleTemplates }> = Promise.resolve({
    // A copy: `generateMetadata` is handed what is above it, and may write to it.
    metadata: { ...emptyMetadata },
    templates: noTemplates,
  })
  const viewports: Promise<unknown>[] = []
  for (const [index, level] of levels.entries()) {
    const above = merged
    const parent = above.then(({ metadata }) => metadata)
    // Not every level asks for its parent; the rejection itself reaches the caller by `merged`.
    parent.catch(() => undefined)
    const own = callOrConstant(level, 'generateMetadata', 'metadata', parent)
    viewports.push(callOrConstant(level, 'generateViewport', 'viewport', parent))
    merged = Promise.all([above, own, level.files]).then(([{ metadata, templates }, value, files]) => {
      const next = mergeMetadata(metadata, recordOf(value), templates, files)
      return { metadata: next, templates: nextTemplates(next, templates, index, levels.length) }
    })
  }
  const [{ metadata }, ...values] = await Promise.all([merged, ...viewports])
  return { metadata, viewport: values.reduce<MetadataExport>(mergeViewport, defaultViewport) }
}

/** A template counts for segments below, so the page does not see the template of a layout in its own segment. */
function nextTemplates(metadata: ResolvedMetadata, templates: TitleTemplates, index: number, count: number): TitleTemplates {
  return index < count - 2 ? templatesOf(metadata) : templates
}

async function callOrConstant(
  level: MetadataLevel,
  generate: 'generateMetadata' | 'generateViewport',
  constant: 'metadata' | 'viewport',
  parent: Promise<ResolvedMetadata>,
): Promise<unknown> {
  const generator = level.exports?.[generate]
  return isFunction(generator) ? await generator(level.props, parent) : level.exports?.[constant]
}

function mergeViewport(viewport: MetadataExport, own: unknown): MetadataExport {
  return isRecord(own) ? { ...viewport, ...own } : viewport
}

function recordOf(value: unknown): MetadataExport | null {
  return isRecord(value) ? value : null
}

function isFunction(value: unknown): value is (...args: readonly unknown[]) => unknown {
  return typeof value === 'function'
}
