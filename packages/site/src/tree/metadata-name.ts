import type { MetadataType } from '../manifest/manifest.ts'
import { codeExtensions } from './conventions.ts'

/** A parsed name of a metadata file. */
export interface MetadataName {
  readonly type: MetadataType
  /** Last part of the URL without extension: "sitemap", "icon1". */
  readonly stem: string
  /** Extension in the URL with its dot, or "": a code file for an image has none. */
  readonly urlExtension: string
  /** Media type of a static file; null for a module. */
  readonly contentType: string | null
}

interface MetadataRule {
  readonly stem: string
  readonly type: MetadataType
  /** Extensions of static files. */
  readonly staticExtensions: readonly string[]
  /** Extension in the URL of a module; null: no module may make it. */
  readonly moduleExtension: string | null
  /** True if it counts in the app directory alone. */
  readonly isRootOnly: boolean
  /** True if a digit may follow the stem, for several images of a kind. */
  readonly mayBeNumbered: boolean
}

const contentTypes: Readonly<Record<string, string>> = {
  ico: 'image/x-icon',
  txt: 'text/plain; charset=utf-8',
  xml: 'application/xml',
  json: 'application/manifest+json',
  webmanifest: 'application/manifest+json',
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  svg: 'image/svg+xml',
}

const photo = ['jpg', 'jpeg', 'png']
const image = { moduleExtension: '', isRootOnly: false, mayBeNumbered: true } as const
const document = { isRootOnly: true, mayBeNumbered: false } as const

const rules: readonly MetadataRule[] = [
  { ...document, stem: 'favicon', type: 'favicon', staticExtensions: ['ico'], moduleExtension: null },
  { ...document, stem: 'robots', type: 'robots', staticExtensions: ['txt'], moduleExtension: '.txt' },
  { ...document, stem: 'manifest', type: 'manifest', staticExtensions: ['webmanifest', 'json'], moduleExtension: '.webmanifest' },
  { ...document, stem: 'sitemap', type: 'sitemap', staticExtensions: ['xml'], moduleExtension: '.xml', isRootOnly: false },
  { ...image, stem: 'icon', type: 'icon', staticExtensions: ['ico', 'svg', ...photo] },
  { ...image, stem: 'apple-icon', type: 'apple-icon', staticExtensions: photo },
  { ...image, stem: 'opengraph-image', type: 'opengraph-image', staticExtensions: ['gif', ...photo] },
  { ...image, stem: 'twitter-image', type: 'twitter-image', staticExtensions: ['gif', ...photo] },
]

const ruleByStem: ReadonlyMap<string, MetadataRule> = new Map(rules.map((rule) => [rule.stem, rule]))
const isModuleExtension = (extension: string) => (codeExtensions as readonly string[]).includes(extension)

/** Reads a file name as a metadata convention; undefined for any other file. */
export function parseMetadataName(fileName: string, isAppDirectory: boolean): MetadataName | undefined {
  const dot = fileName.lastIndexOf('.')
  if (dot <= 0) return undefined
  const stem = fileName.slice(0, dot)
  const extension = fileName.slice(dot + 1)
  const isNumbered = /\d$/.test(stem)
  const rule = ruleByStem.get(isNumbered ? stem.slice(0, -1) : stem)
  if (rule === undefined || (isNumbered && !rule.mayBeNumbered) || (rule.isRootOnly && !isAppDirectory)) return undefined
  if (rule.staticExtensions.includes(extension)) {
    return { type: rule.type, stem, urlExtension: `.${extension}`, contentType: contentTypes[extension] ?? null }
  }
  if (rule.moduleExtension === null || !isModuleExtension(extension)) return undefined
  return { type: rule.type, stem, urlExtension: rule.moduleExtension, contentType: null }
}

/**
 * Suffix of the stem of an image in a group or slot, so that images of two groups have two URLs: the first
 * six characters of a djb2 hash of the directory, as Next.js does it. A sitemap keeps its name.
 */
export function metadataSuffix(type: MetadataType, directory: string): string {
  const isHidden = (directory.includes('(') && directory.includes(')')) || directory.includes('@')
  if (!isHidden || type === 'sitemap') return ''
  let hash = 5381
  for (let i = 0; i < directory.length; i++) hash = ((hash << 5) + hash + directory.charCodeAt(i)) | 0
  return `-${(hash >>> 0).toString(36).slice(0, 6)}`
}
