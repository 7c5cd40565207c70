import { readdirSync, statSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { codeOf, messageOf } from '@svc/core'
import { collectClaims } from './claims.ts'
import { isPreferred, roleOf } from './conventions.ts'
import { type WalkContext, walkDirectories } from './directory-tree.ts'
import type { MiddlewareFile, SiteManifest, SiteProblem } from './manifest.ts'
import { sealManifest } from './manifest-version.ts'
import { PageTrees } from './page-tree.ts'
import { buildRoutes } from './routes.ts'

/** What to scan. */
export interface ScanOptions {
  /** Directory of the site. */
  readonly root: string
  /** Directory of static files. @default root + "/public" */
  readonly publicDir?: string
}

/** How many directories are read before other work gets its turn. */
const BATCH_DIRECTORIES = 64

/**
 * Reads the names of a site's files into a manifest, without running any of them. Never throws for what is on the disk:
 * that becomes `problems`. Reads directories in batches and lets other work run between them.
 */
export async function scanSite(options: ScanOptions): Promise<SiteManifest> {
  const scan = scanSteps(options)
  for (let count = 1; ; count++) {
    const step = scan.next()
    if (step.done === true) return step.value
    if (count % BATCH_DIRECTORIES === 0) await new Promise((resume) => setImmediate(resume))
  }
}

/** The same without a pause, for small sites and places that cannot wait. */
export function scanSiteSync(options: ScanOptions): SiteManifest {
  const scan = scanSteps(options)
  for (;;) {
    const step = scan.next()
    if (step.done === true) return step.value
  }
}

function* scanSteps(options: ScanOptions): Generator<undefined, SiteManifest> {
  const root = resolve(options.root)
  const publicDir = resolve(root, options.publicDir ?? 'public')
  const problems: SiteProblem[] = []
  const appDir = findAppDirectory(root, problems)
  const middleware = findMiddleware(appDir === root ? [root] : [root, join(root, 'src')], problems)
  const base = { root, publicDir, appDir, middleware, problems }
  if (appDir === null) return sealManifest({ ...base, routes: [], notFound: null, globalError: null }, [])
  const ignoredAtTop = new Set(dirname(publicDir) === appDir ? [basename(publicDir)] : [])
  const context: WalkContext = { appDir, ignoredAtTop, problems, seen: [] }
  const tree = yield* walkDirectories(context)
  const claims = collectClaims(tree, problems)
  const trees = new PageTrees(tree, claims.metadataByDirectory)
  const manifest = {
    ...base,
    routes: buildRoutes({ claims: claims.list, trees, appDir, problems }),
    notFound: trees.notFound(),
    globalError: tree.files.get('global-error') ?? null,
  }
  return sealManifest(manifest, context.seen)
}

/** `app`, else `src/app`, else the root itself when it holds a page or layout. */
function findAppDirectory(root: string, problems: SiteProblem[]): string | null {
  for (const appDir of [join(root, 'app'), join(root, 'src', 'app')]) {
    if (statSync(appDir, { throwIfNoEntry: false })?.isDirectory() === true) return appDir
  }
  const isApp = fileNames(root, problems).some((name) => ['page', 'layout'].includes(roleOf(name) ?? ''))
  return isApp ? root : null
}

function findMiddleware(directories: readonly string[], problems: SiteProblem[]): MiddlewareFile | null {
  const files = directories.flatMap((directory) =>
    fileNames(directory, [])
      .filter((name) => roleOf(name) === 'middleware')
      .sort((left, right) => (isPreferred(left, right) ? -1 : 1))
      .map((name) => join(directory, name)),
  )
  const [file, ...unused] = files
  if (file === undefined) return null
  for (const other of unused) {
    problems.push({
      severity: 'error',
      file: other,
      message: 'a site has one middleware; this file is not used',
      related: [file],
    })
  }
  return { file, matcher: null }
}

function fileNames(directory: string, problems: SiteProblem[]): string[] {
  try {
    return readdirSync(directory)
  } catch (error) {
    const isMissing = codeOf(error) === 'ENOENT'
    const message = isMissing ? 'the directory is not there' : `cannot be read: ${messageOf(error)}`
    problems.push({ severity: 'error', file: directory, message })
    return []
  }
}
