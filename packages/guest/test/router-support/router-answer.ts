import type { Answer } from '../harness/isolate-harness.ts'

/** Everything that a run emitted, in the form that tests compare. */
export interface RouterAnswer {
  readonly status: number
  readonly headers: readonly (readonly [string, string])[]
  /** Pieces as they were sent; one for a whole answer. */
  readonly pieces: readonly string[]
  readonly body: string
  /** True if it was sent by one `complete`. */
  readonly isWhole: boolean
  readonly reads: readonly string[]
  readonly tags: readonly string[]
  readonly revalidate: number | false | undefined
  readonly handled: readonly { readonly message: string; readonly where: string | undefined }[]
  readonly failure: { readonly message: string; readonly where: string | undefined } | undefined
  readonly verdict: object | undefined
}

/** Brings an answer of the harness into that form. */
export function routerAnswer(answer: Answer): RouterAnswer {
  const { head, error, verdict } = answer
  const { facts: verdictFacts, reads: verdictReads, tags: _tags, revalidate: _revalidate, ...decision } = verdict ?? {}
  const facts = answer.facts ??
    (verdictFacts as Answer['facts']) ?? { reads: (verdictReads as string[] | undefined) ?? [], tags: [] }
  return {
    status: head?.status ?? 0,
    headers: head?.headers ?? [],
    pieces: answer.pieces.map((piece) => (typeof piece === 'string' ? piece : Buffer.from(piece).toString())),
    body: answer.text,
    isWhole: answer.isComplete,
    reads: facts.reads,
    tags: facts.tags,
    revalidate: facts.revalidate,
    handled: answer.handled.map(({ message, where }) => ({ message, where })),
    failure: error === undefined ? undefined : { message: error.message, where: error.where },
    verdict: verdict === undefined ? undefined : decision,
  }
}
