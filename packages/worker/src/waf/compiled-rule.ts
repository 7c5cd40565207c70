import { patternsOf, type WafRule } from '@svc/config'
import { CidrSet, type LinearPattern } from '@svc/http'
import type { RequestForms } from './request-forms.ts'

/** Compiles a pattern, or finds the one that was compiled before. */
export type Patterns = (source: string) => LinearPattern

/** How a rule fits the head of a request. */
interface HeadMatch {
  /** `open`: all depends on the body. */
  readonly result: 'no' | 'yes' | 'open'
  /** True if the result for another request to the same path and query may be another one. */
  readonly looksFurther: boolean
}

const no: HeadMatch = { result: 'no', looksFurther: false }
const noFurther: HeadMatch = { result: 'no', looksFurther: true }

/** A rule of the configuration or the admin API, ready to be matched. */
export class CompiledRule {
  readonly rule: WafRule
  readonly #networks: CidrSet | undefined
  readonly #fields: ReadonlyArray<readonly [name: string, pattern: LinearPattern]>
  readonly #path: LinearPattern | undefined
  readonly #query: LinearPattern | undefined
  readonly #method: LinearPattern | undefined
  readonly #body: LinearPattern | undefined
  readonly #looksFurther: boolean
  readonly #tellsHeadFromGet: boolean

  constructor(rule: WafRule, patterns: Patterns) {
    const { when } = rule
    const compiled = (source: string | undefined) => (source === undefined ? undefined : patterns(source))
    this.rule = rule
    this.#networks = when.ip && new CidrSet(when.ip)
    const fields = [
      ...Object.entries(when.header ?? {}),
      ...(when.user_agent === undefined ? [] : [['user-agent', when.user_agent] as const]),
    ]
    this.#fields = fields.map(([name, source]) => [name, patterns(source)])
    this.#path = compiled(when.path)
    this.#query = compiled(when.query)
    this.#method = compiled(when.method)
    this.#body = compiled(when.body)
    this.#looksFurther = rule.rate !== undefined || this.#networks !== undefined || fields.length > 0 || when.body !== undefined
    // L0 answers both with one entry.
    this.#tellsHeadFromGet = this.#method !== undefined && this.#method.test('GET') !== this.#method.test('HEAD')
  }

  /** Tests all conditions but that of the body: those of the path and the query first, which L0 keeps apart. */
  matchHead(forms: RequestForms): HeadMatch {
    if (!fits(this.#path, forms.path) || !fits(this.#query, forms.query)) return no
    const { method, address } = forms.request
    if (this.#method !== undefined && !this.#method.test(method)) return this.#tellsHeadFromGet ? noFurther : no
    const looksFurther = this.#looksFurther || this.#tellsHeadFromGet
    if (this.#networks !== undefined && !this.#networks.contains(address)) return noFurther
    if (!this.#fields.every(([name, pattern]) => fits(pattern, forms.field(name)))) return noFurther
    return { result: this.#body === undefined ? 'yes' : 'open', looksFurther }
  }

  /** Tests the condition of the body. */
  matchBody(forms: RequestForms): boolean {
    return fits(this.#body, forms.bodyForms)
  }
}

function fits(pattern: LinearPattern | undefined, forms: readonly string[]): boolean {
  return pattern === undefined || forms.some((form) => pattern.test(form))
}

/** All patterns of rules, each once. */
export function sourcesOf(rules: readonly WafRule[]): ReadonlySet<string> {
  return new Set(rules.flatMap(({ when }) => patternsOf(when)))
}
