import type { RenderHead, RenderReply } from '@svc/protocol'
import type { AnswerSink } from '../pipeline/stages/answer-sink.ts'
import type { Made } from './keeper.ts'
import type { FillClient } from './page-fill.ts'

/** What the client of a fill may be sent in place of what the render made. */
export interface LeaderAnswers {
  /** Deals with a whole answer. False: send it as it is. */
  takesWhole(made: Made): boolean
  /** Deals with a failure before anything was sent. False: the failure is shown. */
  takesFailure(error: Error): boolean
}

/** The client whose request began a fill: it gets a stream as it comes. */
export class LeaderClient implements FillClient {
  readonly #answer: AnswerSink
  readonly #answers: LeaderAnswers
  #hasBegun = false

  constructor(answer: AnswerSink, answers: LeaderAnswers) {
    this.#answer = answer
    this.#answers = answers
  }

  takesWhole(made: Made): boolean {
    return this.#answers.takesWhole(made)
  }

  complete(reply: RenderReply, body: Uint8Array | undefined): void {
    this.#answer.complete(reply, body)
  }

  head(head: RenderHead): void {
    this.#hasBegun = true
    this.#answer.head(head)
  }

  chunk(bytes: Uint8Array, ack: () => void): void {
    this.#answer.chunk(bytes, ack)
  }

  end(): void {
    this.#answer.end()
  }

  fail(error: Error): void {
    if (!this.#hasBegun && this.#answers.takesFailure(error)) return
    this.#answer.fail(error)
  }
}
