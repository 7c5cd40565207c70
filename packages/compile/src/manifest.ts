/** A key or target of a manifest with one `*`. */
interface Pattern {
  readonly before: string
  readonly after: string
  readonly targets: readonly string[]
}

/** The parts of a `package.json` that lead to further files. */
export interface Manifest {
  readonly name: string | undefined
  /** Relative paths and specifiers that the resolver may follow. */
  readonly targets: readonly string[]
  readonly patterns: readonly Pattern[]
}

/** The system opens no longer path. */
const MAX_PATH = 4096

const FIELDS = ['main', 'module', 'style', 'tsconfig', 'browser', 'exports', 'imports'] as const

/** Parses a `package.json`; one that is not valid leads nowhere, and the resolver reports it. */
export function parseManifest(text: string): Manifest {
  const fields = record(parsed(text))
  const found: { targets: string[]; patterns: Pattern[] } = { targets: [], patterns: [] }
  for (const field of FIELDS) collect(fields[field], found)
  return { name: typeof fields['name'] === 'string' ? fields['name'] : undefined, ...found }
}

/** Matches patterns such as `./*`, and returns the targets with the matched part filled in. */
export function matching(patterns: readonly Pattern[], specifier: string): string[] {
  return patterns.flatMap(({ before, after, targets }) => {
    const isMatch = specifier.length >= before.length + after.length && specifier.startsWith(before) && specifier.endsWith(after)
    if (!isMatch) return []
    const star = specifier.slice(before.length, specifier.length - after.length)
    return targets.flatMap((target) => {
      const parts = target.split('*')
      const length = target.length + (parts.length - 1) * star.length
      return length > MAX_PATH ? [] : [parts.join(star)]
    })
  })
}

/** Makes a pattern of a key and its targets; without a `*` it matches the key alone. */
export function patternOf(key: string, targets: readonly string[]): Pattern {
  const star = key.indexOf('*')
  return { before: star < 0 ? key : key.slice(0, star), after: star < 0 ? '' : key.slice(star + 1), targets }
}

/** Collects strings at any depth, without recursion: a manifest of a site may be nested deeply. */
function collect(field: unknown, into: { targets: string[]; patterns: Pattern[] }): void {
  const waiting: { readonly value: unknown; readonly key: string | undefined }[] = [{ value: field, key: undefined }]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { value, key } = next
    if (typeof value === 'string') {
      if (key === undefined) into.targets.push(value)
      else into.patterns.push(patternOf(key, [value.endsWith('/') ? `${value}*` : value]))
    } else if (Array.isArray(value)) {
      for (const one of value) waiting.push({ value: one, key })
    } else {
      for (const [name, one] of Object.entries(record(value))) waiting.push({ value: one, key: patternKey(name) ?? key })
    }
  }
}

/** Keys that end in a slash stand for all that lies below. */
function patternKey(name: string): string | undefined {
  if (name.includes('*')) return name
  return name.endsWith('/') ? `${name}*` : undefined
}

/** Returns the value as an object; an empty one for anything else. */
export function record(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {}
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text.replace(/^\ufeff/, ''))
  } catch {
    // The resolver reads the same text and reports the error.
    return undefined
  }
}

// Each alternative also matches up to the end of the text: an unfinished one is not looked through again and again.
const COMMENTS = /("(?:[^"\\]+|\\[\s\S]?)*"?)|\/\/[^\n]*|#[^\n]*|\/\*[\s\S]*?(?:\*\/|$)/g
const TRAILING_COMMAS = /("(?:[^"\\]+|\\[\s\S]?)*"?)|,(?=\s*[}\]])/g

/** Parses JSON with comments and trailing commas, as a `tsconfig.json` has them. */
export function parseJsonc(text: string): Record<string, unknown> {
  const bare = text.replace(COMMENTS, (_, literal?: string) => literal ?? ' ')
  return record(parsed(bare.replace(TRAILING_COMMAS, (_, literal?: string) => literal ?? '')))
}
