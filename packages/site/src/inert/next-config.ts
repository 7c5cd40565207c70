import { Visitor } from 'oxc-parser'
import { lineAt, parseModule } from '../tree/module-survey.ts'

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
