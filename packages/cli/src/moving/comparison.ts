import { type Answer, ask, type Question } from './ask.ts'
import { type Bases, compareAnswers, type Difference } from './compare-answers.ts'

/** A request to which the servers respond differently. */
interface DifferentRequest extends Question {
  readonly differences: readonly Difference[]
}

export interface Comparison {
  readonly requests: number
  readonly different: readonly DifferentRequest[]
  /** True if there were more requests than the limit allows. */
  readonly isCut: boolean
}

interface Limits {
  /** Requests to each server. */
  readonly maxRequests: number
  /** True if requests may change something. */
  readonly isUnsafe: boolean
}

/** Requests in flight at once: the server may serve others meanwhile. */
const MAX_PARALLEL = 4
const RANGE = { Range: 'bytes=0-9' }

/** Sends requests to both servers and collects the differences. */
class Comparer {
  readonly #bases: Bases
  readonly #limits: Limits
  readonly #different = new Map<number, DifferentRequest>()
  #requests = 0
  #isCut = false

  constructor(bases: Bases, limits: Limits) {
    this.#bases = bases
    this.#limits = limits
  }

  get result(): Comparison {
    const inOrder = [...this.#different].toSorted(([one], [other]) => one - other)
    return { requests: this.#requests, different: inOrder.map(([, request]) => request), isCut: this.#isCut }
  }

  /** Compares one request; `ofSvc` has the fields that only svc gets. Returns the two responses; undefined: the limit is reached. */
  async compare(
    question: Question,
    ofSvc: Question = question,
  ): Promise<{ readonly nginx: Answer; readonly svc: Answer } | undefined> {
    if (this.#requests >= this.#limits.maxRequests) {
      this.#isCut = true
      return undefined
    }
    const number = this.#requests++
    const [nginx, svc] = await Promise.all([ask(this.#bases.nginx, question), ask(this.#bases.svc, ofSvc)])
    let differences = compareAnswers(nginx, svc, this.#bases, true)
    if (differences.some(({ field }) => field === 'body') && question.method !== 'POST') {
      const again = await ask(this.#bases.nginx, question)
      if (again.digest !== nginx.digest) differences = compareAnswers(nginx, svc, this.#bases, false)
    }
    if (differences.length > 0) this.#different.set(number, { ...question, differences })
    return { nginx, svc }
  }

  /** Compares a path with all methods and conditions. */
  async compareForms(host: string, target: string): Promise<void> {
    const question: Question = { method: 'GET', host, target, headers: {} }
    const first = await this.compare(question)
    if (first === undefined) return
    for (const method of ['HEAD', 'OPTIONS', 'TRACE']) await this.compare({ ...question, method })
    await this.compare({ ...question, target: `${target}?svc=compare` })
    await this.compare({ ...question, headers: { 'Accept-Encoding': 'gzip' } })
    if (this.#limits.isUnsafe) await this.compare({ ...question, method: 'POST' })
    if (first.nginx.status !== 200 || first.svc.status !== 200) return
    await this.compare({ ...question, headers: RANGE })
    const [etag = '', ownEtag = ''] = [first.nginx, first.svc].map(({ headers }) => headers.get('etag')?.[0])
    if (etag !== '' && ownEtag !== '') {
      const own = { ...question, headers: { 'If-None-Match': ownEtag } }
      await this.compare({ ...question, headers: { 'If-None-Match': etag } }, own)
    }
    const modified = first.nginx.headers.get('last-modified')?.[0]
    if (modified !== undefined) await this.compare({ ...question, headers: { 'If-Modified-Since': modified } })
  }
}

/** Does the work on all items, some at a time. */
async function inParallel<Item>(items: readonly Item[], work: (item: Item) => Promise<unknown>): Promise<void> {
  const next = items.values()
  const run = async () => {
    for (const item of next) await work(item)
  }
  await Promise.all(Array.from({ length: MAX_PARALLEL }, run))
}

/** Compares derived requests in all their forms. Rejects if one of the servers cannot be reached. */
export async function compareDerived(
  bases: Bases,
  limits: Limits,
  requests: readonly Pick<Question, 'host' | 'target'>[],
): Promise<Comparison> {
  const comparer = new Comparer(bases, limits)
  await inParallel(requests, ({ host, target }) => comparer.compareForms(host, target))
  return comparer.result
}

/** Compares requests as they are. Rejects if one of the servers cannot be reached. */
export async function compareGiven(bases: Bases, limits: Limits, questions: readonly Question[]): Promise<Comparison> {
  const comparer = new Comparer(bases, limits)
  await inParallel(questions, (question) => comparer.compare(question))
  return comparer.result
}
