import { lstatSync, statSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { codeOf, messageOf } from '@svc/core'
import { InertParts } from '../inert/inert-parts.ts'
import type { MiddlewareFile, SiteManifest, SiteProblem } from '../manifest/manifest.ts'
import { problemText, sealManifest } from '../manifest/parse-manifest.ts'
import { codeExtensions, middlewareNames, STATIC_PARAMS } from '../tree/conventions.ts'
import { type FoundFile, type ScanContext, scanDirectories } from '../tree/directory-tree.ts'
import { SiteFiles } from '../tree/site-files.ts'
import { collectClaims } from './claims.ts'
import { PageTrees } from './page-tree.ts'
import { buildRoutes } from './routes.ts'

/** Inputs of a scan. */
interface ScanOptions {
  /** Directory of the site. */
  readonly root: string
  /** Directory of static files. @default root + "/public" */
  readonly publicDir?: string
  /** Problems that are known before the scan: the first ones of the manifest. @default none */
  readonly problems?: readonly SiteProblem[]
}

/** Problems that a manifest lists; of more, errors are listed first. */
export const MAX_PROBLEMS = 200

/**
 * Reads the files of a site into a manifest, without running any of them. Blocks, within the bounds of `SiteFiles`: a process that
 * serves others must not call it. Never throws for anything on the disk: that becomes `problems`.
 */
export function scanSite(options: ScanOptions): SiteManifest {
  const root = resolve(options.root)
  const publicDir = resolve(root, options.publicDir ?? 'public')
  const problems: SiteProblem[] = [...(options.problems ?? [])]
  const files = new SiteFiles(root, problems)
  const appDir = findAppDirectory(root, problems)
  const guards = findMiddleware(appDir === root ? [root] : [root, join(root, 'src')], problems)
  const inert = new InertParts({ root, appDir, files, problems })
  const base = { root, publicDir, appDir, ...guards }
  const seal = (rest: Pick<SiteManifest, 'routes' | 'notFound' | 'globalError'>, seen: readonly string[]) =>
    sealManifest({ ...base, ...rest, problems: listed(problems, root) }, seen)
  inert.ofSite(guards.middleware?.file)
  if (appDir === null) return seal({ routes: [], notFound: null, globalError: null }, [])
  const ignoredAtTop = new Set(dirname(publicDir) === appDir ? [basename(publicDir)] : [])
  const onFile = (file: FoundFile) => inert.foundFile(file)
  const context: ScanContext = { appDir, ignoredAtTop, files, problems, seen: [], onFile }
  const tree = scanDirectories(context)
  const claims = collectClaims(tree, problems)
  const trees = new PageTrees(tree, claims.metadataByDirectory)
  const hasStaticParams = (file: string) => files.exports(file, STATIC_PARAMS)
  const routes = buildRoutes({ claims: claims.list, trees, appDir, hasStaticParams, look: (file) => files.look(file), problems })
  return seal({ routes, notFound: trees.notFound(), globalError: tree.files.get('global-error') ?? null }, context.seen)
}

/** `app`, else `src/app`, else the root itself when it holds a page or layout. */
function findAppDirectory(root: string, problems: SiteProblem[]): string | null {
  try {
    statSync(root)
  } catch (error) {
    const message = codeOf(error) === 'ENOENT' ? 'the directory is not there' : `cannot be read: ${messageOf(error)}`
    problems.push({ severity: 'error', file: root, message })
    return null
  }
  for (const appDir of [join(root, 'app'), join(root, 'src', 'app')]) {
    if (statSync(appDir, { throwIfNoEntry: false })?.isDirectory() === true) return appDir
  }
  const marks = ['page', 'layout'].flatMap((role) => codeExtensions.map((extension) => join(root, `${role}.${extension}`)))
  return marks.some(isThere) ? root : null
}

/**
 * The code that stands before every request. It is looked for by its names: no number of other files can hide it. Of two files
 * neither is run, and nothing is served: the one that is left out may be the one that guards the site.
 */
function findMiddleware(
  directories: readonly string[],
  problems: SiteProblem[],
): { middleware: MiddlewareFile | null; refusal: string | null } {
  const paths = directories.flatMap((directory) => middlewareNames.map((name) => join(directory, name)))
  const [file, ...others] = paths.filter(isThere)
  if (file === undefined) return { middleware: null, refusal: null }
  const middleware = { file, matcher: null }
  if (others.length === 0) return { middleware, refusal: null }
  const message = 'a site has one middleware.* or proxy.*, at its root or in src/: every request fails until one is left'
  const problem: SiteProblem = { severity: 'error', file, message, related: others }
  problems.push(problem)
  return { middleware, refusal: problemText(problem) }
}

/** True if a name is taken. One that cannot be looked at is: loading it fails then, where leaving it out would pass it over. */
function isThere(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined
  } catch (error) {
    return codeOf(error) !== 'ENOTDIR'
  }
}

function listed(problems: readonly SiteProblem[], root: string): SiteProblem[] {
  if (problems.length <= MAX_PROBLEMS) return [...problems]
  const sorted = problems.toSorted((left, right) => Number(left.severity === 'warning') - Number(right.severity === 'warning'))
  const message = `${problems.length - MAX_PROBLEMS} more problems are not listed`
  return [...sorted.slice(0, MAX_PROBLEMS), { severity: 'error', file: root, message }]
}
