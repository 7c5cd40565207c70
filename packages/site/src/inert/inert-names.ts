import { Visitor } from 'oxc-parser'
import type { SiteProblem } from '../manifest/manifest.ts'
import { codeExtensions, middlewareNames, roleOf } from '../tree/conventions.ts'
import { parseMetadataName } from '../tree/metadata-name.ts'
import { lineAt, parseModule } from '../tree/module-survey.ts'

/** The message about a part of a site that has no effect. */
export type Notice = Pick<SiteProblem, 'severity' | 'message'>

const error = (message: string): Notice => ({ severity: 'error', message })
const warning = (message: string): Notice => ({ severity: 'warning', message })

/** Extensions that Next.js, or a plugin of it, reads and that are not read here. */
const otherExtensions = ['mdx', 'md', 'mjs', 'cjs', 'mts', 'cts']

/** Conventions of Next.js inside of an app directory that do not exist here, by name without extension. */
const unknownConventions: Readonly<Record<string, Notice>> = {
  forbidden: error('is not supported: respond with status 403 in a route or in middleware'),
  unauthorized: error('is not supported: respond with status 401 in a route or in middleware'),
  'global-not-found': warning('has no effect: use not-found in the app directory'),
  head: warning('has no effect: export metadata or generateMetadata'),
}

function stemAndExtension(name: string): [stem: string, extension: string] {
  const dot = name.lastIndexOf('.')
  return dot <= 0 ? [name, ''] : [name.slice(0, dot), name.slice(dot + 1)]
}

/** Why a file of a routed directory has no effect, by its name; undefined: it has one, or is no convention at all. */
export function noticeOfName(name: string, isTop: boolean): Notice | undefined {
  const [stem, extension] = stemAndExtension(name)
  const isModule = (codeExtensions as readonly string[]).includes(extension)
  if (middlewareNames.includes(name)) return error("has no effect here: move it to the site's root, or to src/")
  if (otherExtensions.includes(extension)) {
    const twin = `${stem}.tsx`
    const isConvention = roleOf(twin) !== undefined || parseMetadataName(twin, true) !== undefined
    return isConvention ? error(`is not read: rewrite it as ${twin}`) : undefined
  }
  if (isModule) {
    const unknown = Object.hasOwn(unknownConventions, stem) ? unknownConventions[stem] : undefined
    if (unknown !== undefined) return unknown
  }
  if (isTop) return undefined
  const isTopOnly = stem === 'global-error' ? isModule : isRootMetadata(name)
  return isTopOnly ? warning('has no effect here: it belongs in the app directory itself') : undefined
}

function isRootMetadata(name: string): boolean {
  return parseMetadataName(name, true) !== undefined && parseMetadataName(name, false) === undefined
}

/** Exports of route modules that Next.js reads and that have no effect here. */
export const inertExports: ReadonlyMap<string, string> = new Map([
  ['runtime', 'site code always runs in an isolate'],
  ['preferredRegion', 'a site always runs on its server'],
  ['maxDuration', 'the limit is render.timeout_ms of the configuration'],
  ['experimental_ppr', 'remove it; pages stream behind Suspense without it'],
  ['prefetch', 'links are not prefetched'],
  ['unstable_prefetch', 'links are not prefetched'],
  ['instant', 'there is no navigation in the browser'],
  ['unstable_instant', 'there is no navigation in the browser'],
  ['unstable_dynamicStaleTime', 'there is no navigation in the browser'],
  ['getServerSideProps', 'it belongs to the Pages Router: load data in the component'],
  ['getStaticProps', 'it belongs to the Pages Router: load data in the component'],
  ['getStaticPaths', 'it belongs to the Pages Router: use generateStaticParams'],
])

/** Files beside the app directory that Next.js reads and that have no effect here, by their exact names. */
export const inertRootFiles: ReadonlyMap<string, Notice> = new Map([
  ...['.env.local', '.env.production', '.env.production.local'].map((name): [string, Notice] => [
    name,
    error('is not read: move its variables into .env, or into env of the site in the configuration'),
  ]),
  ...['.env.development', '.env.development.local'].map((name): [string, Notice] => [
    name,
    warning('is not read: move its variables into .env, or into env of the site in the configuration'),
  ]),
])

/** The same for modules, at the root and in src/, by name without extension. */
export const inertRootModules: ReadonlyMap<string, Notice> = new Map([
  ['instrumentation', warning('never runs: the server itself provides metrics, logs and traces')],
  ['instrumentation-client', warning('never runs: pages have no JavaScript in the browser')],
  ['mdx-components', warning('has no effect: MDX is not read')],
])

/** Names of modules with every extension that Next.js takes. */
export function moduleNames(stem: string): string[] {
  return [...codeExtensions, 'mjs', 'cjs', 'mts', 'cts'].map((extension) => `${stem}.${extension}`)
}

/** Keys of a `next.config.*` that decide who gets what answer, and what to do instead. */
const decisiveKeys: ReadonlyMap<string, string> = new Map([
  ['headers', 'set them by route rules of the configuration or in middleware'],
  ['redirects', 'write them as route rules of the configuration or in middleware'],
  ['rewrites', 'write them as route rules of the configuration or in middleware'],
  ['basePath', 'put the app directory below directories of that path'],
  ['trailingSlash', 'URLs have no slash at their end; redirect in middleware'],
  ['skipTrailingSlashRedirect', 'URLs with a slash at their end are redirected'],
  ['skipMiddlewareUrlNormalize', 'middleware gets the URL of the request'],
  ['skipProxyUrlNormalize', 'middleware gets the URL of the request'],
  ['i18n', 'choose the language in middleware'],
  ['env', 'name the variables in .env, or in env of the site in the configuration'],
  ['pageExtensions', 'only tsx, ts, jsx and js are read'],
  ['exportPathMap', 'make a directory for each path'],
  ['serverActions', 'there are no server actions'],
  ['cacheComponents', 'say what to cache by revalidate and unstable_cache'],
  ['assetPrefix', 'files of public are served by this server'],
])

/** A key of a configuration with its line. */
interface ConfigKey {
  readonly name: string
  readonly line: number
  /** Advice for keys that decide who gets what answer. */
  readonly advice: string | undefined
}

/** The keys of the objects in a `next.config.*` that are not inside of another object, and those that are assigned later. */
export function nextConfigKeys(file: string, text: string): ConfigKey[] {
  const keys: ConfigKey[] = []
  let depth = 0
  const add = (name: string, offset: number) => keys.push({ name, line: lineAt(text, offset), advice: decisiveKeys.get(name) })
  const visitor = new Visitor({
    ObjectExpression(node) {
      depth++
      for (const property of depth === 1 ? node.properties : []) {
        if (property.type === 'SpreadElement') continue
        const { key } = property
        if (key.type === 'Identifier' && !property.computed) add(key.name, key.start)
        else if (key.type === 'Literal') add(String(key.value), key.start)
      }
    },
    'ObjectExpression:exit'() {
      depth--
    },
    AssignmentExpression({ left }) {
      const isKey = left.type === 'MemberExpression' && left.property.type === 'Identifier' && !left.computed
      if (depth === 0 && isKey && decisiveKeys.has(left.property.name)) add(left.property.name, left.property.start)
    },
  })
  visitor.visit(parseModule(file, text).program)
  return keys
}
