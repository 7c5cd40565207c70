/** Runs tasks one after the other, in the order they came in. A task that fails holds up none of the others. */
export class TurnQueue {
  #last: Promise<unknown> = Promise.resolve()

  /** Settles as the task does. */
  run<T>(task: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(task)
    this.#last = turn.catch(() => undefined)
    return turn
  }
}
