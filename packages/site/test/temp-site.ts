import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { tempDir, writeFiles } from '@svc/testkit'
import type { SegmentNode, SiteManifest } from '../src/manifest/manifest.ts'
import { scanSite } from '../src/scan/scan-site.ts'

/** Files of a site: paths alone (empty files), or paths with their text. */
export type SiteFiles = readonly string[] | Readonly<Record<string, string>>

/** Makes a site in a directory of its own, which goes with the test. A path with "/" at its end is a directory. */
export function makeSite(t: TestContext, files: SiteFiles): string {
  const root = tempDir(t, 'svc-site')
  const entries = Array.isArray(files) ? files.map((file): [string, string] => [file, '']) : Object.entries(files)
  const [dirs, texts] = [entries.filter(([file]) => file.endsWith('/')), entries.filter(([file]) => !file.endsWith('/'))]
  for (const [dir] of dirs) mkdirSync(join(root, dir), { recursive: true })
  writeFiles(root, Object.fromEntries(texts))
  return root
}

/** A scanned site with shorthands for assertions; all files are relative to its root. */
export interface ScannedSite {
  readonly root: string
  readonly manifest: SiteManifest
  /** "kind pattern file" of each route. */
  readonly routes: string[]
  /** "severity file: message" of each problem. */
  readonly problems: string[]
  /** The tree of a page, without empty parts. */
  tree(pattern: string): unknown
}

/** Makes a site and scans it. */
export function scanFiles(t: TestContext, files: SiteFiles): ScannedSite {
  return scanned(makeSite(t, files))
}

/** Scans a site that is there. */
export function scanned(root: string): ScannedSite {
  const manifest = scanSite({ root })
  const short = (text: string) => text.replaceAll(`${root}/`, '')
  return {
    root,
    manifest,
    routes: manifest.routes.map((route) => `${route.kind} ${route.pattern} ${short(route.file)}`),
    problems: manifest.problems.map(({ severity, file, message, related = [] }) =>
      short([`${severity} ${file}: ${message}`, ...related].join(' + ')),
    ),
    tree(pattern) {
      const tree = manifest.routes.find((route) => route.kind === 'page' && route.pattern === pattern)?.tree
      return tree === null || tree === undefined ? tree : brief(tree, short)
    },
  }
}

/** A node without its empty lists and with short file names. */
export function brief(node: SegmentNode, short: (text: string) => string): unknown {
  const entries: [string, unknown][] = []
  for (const [key, value] of Object.entries(node)) {
    if (key === 'slots') {
      const slots = Object.entries(node.slots).map(([name, slot]) => [name, slot === null ? null : brief(slot, short)])
      if (slots.length > 0) entries.push([key, Object.fromEntries(slots)])
    } else if (key === 'metadata') {
      if (node.metadata.length > 0) entries.push([key, node.metadata.map((file) => file.pattern)])
    } else entries.push([key, typeof value === 'string' ? short(value) : value])
  }
  return Object.fromEntries(entries)
}
