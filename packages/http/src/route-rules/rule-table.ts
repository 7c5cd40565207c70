import { HostMatcher } from '../address/host-match.ts'
import { compilePathPattern, type PathCaptures, type PathPattern, segmentsOf } from './path-pattern.ts'

/** Conditions of a rule. */
interface RuleSource {
  readonly pattern: string
  /** Host name, or a pattern such as `*.example.org`. */
  readonly host?: string | undefined
  readonly methods?: readonly string[] | undefined
}

/** The parts of a request that rules match. */
export interface RuleRequest {
  /** Decoded and normalised, one character for each byte. */
  readonly path: string
  /** Lower case, without port. */
  readonly hostname: string
  readonly method: string
}

/** A rule that a request matches. */
export interface RuleMatch<Rule> {
  readonly rule: Rule
  readonly captures: PathCaptures
  /** True if it is one rule for GET and another for HEAD. */
  readonly tellsHeadFromGet: boolean
  /** True if the method of the request is one of the rule's. */
  readonly isForMethod: boolean
}

interface Entry<Rule> {
  readonly rule: Rule
  readonly pattern: PathPattern
  readonly hosts: HostMatcher<true> | undefined
  readonly methods: ReadonlySet<string> | undefined
  readonly tellsHeadFromGet: boolean
}

/** Rules in their order, found by the first segment of a path: however many there are, few are looked at. */
export class RuleTable<Rule extends RuleSource> {
  readonly #byFirst = new Map<string, Entry<Rule>[]>()
  /** Those whose first segment is not fixed. */
  readonly #others: readonly Entry<Rule>[]

  constructor(rules: readonly Rule[]) {
    const entries = rules.map(entryOf)
    for (const { pattern } of entries) if (pattern.firstText !== undefined) this.#byFirst.set(pattern.firstText, [])
    for (const entry of entries) {
      const { firstText } = entry.pattern
      if (firstText !== undefined) this.#byFirst.get(firstText)?.push(entry)
      else for (const list of this.#byFirst.values()) list.push(entry)
    }
    this.#others = entries.filter(({ pattern }) => pattern.firstText === undefined)
  }

  /** The rules whose pattern and host fit, in their order; a caller that stops early pays for no more. */
  *matches({ path, hostname, method }: RuleRequest): Generator<RuleMatch<Rule>, void, undefined> {
    if (!path.startsWith('/')) return
    const segments = segmentsOf(path)
    for (const { rule, pattern, hosts, methods, tellsHeadFromGet } of this.#byFirst.get(segments[0] ?? '') ?? this.#others) {
      if (hosts !== undefined && isOther(hosts, hostname)) continue
      const captures = pattern.match(segments)
      if (captures === undefined) continue
      yield { rule, captures, tellsHeadFromGet, isForMethod: methods?.has(method) !== false }
    }
  }
}

function entryOf<Rule extends RuleSource>(rule: Rule): Entry<Rule> {
  const { pattern, host, methods } = rule
  return {
    rule,
    pattern: compilePathPattern(pattern),
    hosts: host === undefined ? undefined : new HostMatcher([{ hostnames: [host], isDefault: false, value: true }]),
    methods: methods === undefined ? undefined : new Set(methods),
    tellsHeadFromGet: methods !== undefined && methods.includes('GET') !== methods.includes('HEAD'),
  }
}

/** The matcher has one name: whatever else comes is only its default. */
function isOther(hosts: HostMatcher<true>, hostname: string): boolean {
  const match = hosts.match(hostname)
  return match === undefined || match.kind === 'default'
}
