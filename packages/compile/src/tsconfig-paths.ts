import { dirname, join, relative, resolve } from 'node:path'
import { isBelow } from '@svc/core'
import { matching, parseJsonc, patternOf, record } from './manifest.ts'

/** Access to the files of a site. */
interface TsconfigFiles {
  /** Returns the text of a file, undefined if there is none. Throws for a file that must not be opened. */
  read(file: string): string | undefined
  /** Returns the paths that a package's file may have. */
  candidates(directory: string, specifier: string): string[]
  /** Refuses a site whose settings are in too many files. */
  refuse(message: string): never
  /** Is called for each specifier in the files. */
  follow(directory: string, specifier: string): void
}

/** The paths that the `tsconfig.json` of a site gives to imports. */
export interface TsconfigPaths {
  /** Paths that a specifier that is not relative may lead to. */
  targets(specifier: string): string[]
  /** The same file in the other `rootDirs`. */
  beside(file: string): string[]
}

/** A site whose settings extend more files is refused. */
const MAX_FILES = 200

/** Names of the file, by preference. */
export const TSCONFIG_NAMES = ['tsconfig.json', 'jsconfig.json']

/** Reads the settings of a site and all files that they extend or refer to. */
export function tsconfigPaths(root: string, files: TsconfigFiles): TsconfigPaths {
  const bases: string[] = []
  const rootDirs: string[] = []
  const patterns: { readonly base: string; readonly key: string; readonly values: readonly string[] }[] = []
  const seen = new Set<string>()
  let count = 0
  const waiting = TSCONFIG_NAMES.map((name) => join(root, name)).toReversed()
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    if (seen.has(file)) continue
    seen.add(file)
    const text = files.read(file)
    if (text === undefined) continue
    if (++count > MAX_FILES) files.refuse(`${join(root, 'tsconfig.json')} leads to more than ${MAX_FILES} files`)
    const settings = parseJsonc(text)
    const directory = dirname(file)
    waiting.push(...extended(settings, directory, files))
    const options = record(settings['compilerOptions'])
    const inPlace = (value: string) => resolve(directory, value.replace(/^\$\{configDir\}/, root))
    const [base] = strings(options['baseUrl']).map(inPlace)
    if (base !== undefined) bases.push(base)
    rootDirs.push(...strings(options['rootDirs']).map(inPlace))
    for (const [key, values] of Object.entries(record(options['paths']))) {
      const targets = strings(values).map((value) => value.replace(/^\$\{configDir\}/, root))
      patterns.push({ base: base ?? directory, key, values: targets })
    }
  }
  const every = patterns.flatMap(({ base, key, values }) =>
    [...new Set([base, ...bases])].map((from) =>
      patternOf(
        key,
        values.map((value) => resolve(from, value)),
      ),
    ),
  )
  return {
    targets: (specifier) => [...matching(every, specifier), ...bases.map((base) => join(base, specifier))],
    beside: (file) =>
      rootDirs.filter((dir) => isBelow(file, dir)).flatMap((dir) => rootDirs.map((other) => join(other, relative(dir, file)))),
  }
}

/** Paths that the files may have which these settings name. */
function extended(settings: Record<string, unknown>, directory: string, files: TsconfigFiles): string[] {
  const references = Array.isArray(settings['references']) ? settings['references'] : []
  const names = [...strings(settings['extends']), ...references.flatMap((one) => strings(record(one)['path']))]
  return names.flatMap((name) => {
    files.follow(directory, name)
    const isPath = /^[./]/.test(name)
    const paths = isPath ? [resolve(directory, name)] : [resolve(directory, name), ...files.candidates(directory, name)]
    return paths.flatMap((path) => [path, `${path}.json`, join(path, 'tsconfig.json')])
  })
}

function strings(value: unknown): string[] {
  return (Array.isArray(value) ? value : [value]).filter((one) => typeof one === 'string')
}
