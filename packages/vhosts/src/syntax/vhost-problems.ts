import { type ConfigProblem, formatPlace, type Place } from './config-problem.ts'
import { decodeBytes } from './source-file.ts'

/** A file of garbage has a problem in every word; the first ones say enough. */
const MAX_PROBLEMS = 500
const MAX_SHOWN = 80
const SPACE = 0x20
const DELETE = 0x7f

/** Writes a word of a file for a message: as characters, without control characters, and not at any length. */
export function shown(word: string): string {
  const text = [...decodeBytes(word.slice(0, MAX_SHOWN))].map((char) => {
    const code = char.charCodeAt(0)
    return code < SPACE || code === DELETE ? `\\x${code.toString(16).padStart(2, '0')}` : char
  })
  return `${text.join('')}${word.length > MAX_SHOWN ? '...' : ''}`
}

/** A directive that has no effect here. */
export interface IgnoredDirective {
  readonly name: string
  readonly reason: string
  /** Where it stands, each place once. */
  readonly places: readonly string[]
}

/** Names in the summary of directives without effect. */
const MAX_NAMED = 6
/** Places of one directive that are listed. */
const MAX_PLACES = 20

/** Collects the mistakes in vhost files, each once, also for a file that is included twice. */
export class VhostProblems {
  readonly #problems = new Map<string, ConfigProblem>()
  readonly #notices = new Map<string, string>()
  readonly #causes = new Set<string>()
  readonly #ignored = new Map<string, IgnoredDirective>()
  #left = 0

  /** Adds a problem. */
  add(place: Place, message: string, hint?: string): void {
    const key = `${formatPlace(place)}: ${message}`
    if (this.#problems.has(key)) return
    if (this.#problems.size >= MAX_PROBLEMS) {
      this.#left++
      return
    }
    this.#problems.set(key, { ...place, path: '', message, ...(hint === undefined ? {} : { hint }) })
  }

  /** Adds a problem, unless its cause has been reported. */
  addOnce(cause: string, place: Place, message: string, hint?: string): void {
    if (this.#causes.has(cause)) return
    this.#causes.add(cause)
    this.add(place, message, hint)
  }

  /** Adds a notice. Of those about one `subject` only the first counts. */
  notice(subject: string, place: Place, message: string): void {
    if (!this.#notices.has(subject)) this.#notices.set(subject, `${formatPlace(place)}: ${message}`)
  }

  /** Notes a directive that has no effect here. */
  ignore(name: string, place: Place, reason: string): void {
    const places = this.#ignored.get(name)?.places ?? []
    const at = formatPlace(place)
    if (places.length >= MAX_PLACES || places.includes(at)) return
    this.#ignored.set(name, { name, reason, places: [...places, at] })
  }

  /** The directives that have no effect here. */
  get ignored(): readonly IgnoredDirective[] {
    return [...this.#ignored.values()]
  }

  get problems(): ConfigProblem[] {
    const problems = [...this.#problems.values()]
    const last = problems.at(-1)
    if (this.#left === 0 || last === undefined) return problems
    return [...problems, { file: last.file, line: 0, column: 0, path: '', message: `and ${this.#left} more problems` }]
  }

  get notices(): string[] {
    return [...this.#notices.values(), ...this.#summary()]
  }

  #summary(): string[] {
    const names = [...this.#ignored.keys()].toSorted()
    if (names.length === 0) return []
    const named = `${names.slice(0, MAX_NAMED).join(', ')}${names.length > MAX_NAMED ? ', ...' : ''}`
    const count = names.length === 1 ? 'one directive of nginx has' : `${names.length} directives of nginx have`
    return [`${count} no effect in vhost files: ${named} ("svc config check --verbose" gives places and reasons)`]
  }
}
