/** A pool as the budget sees it. */
export interface BudgetMember {
  readonly threadCount: number
  /** Milliseconds since its longest idle thread had work; undefined: none is idle. */
  readonly longestIdleMs: number | undefined
  /** It replaces a pool that ends soon: it does not wait for that one's threads. */
  readonly mayExceed?: boolean
  /** Closes the longest idle thread. */
  closeIdleThread(): void
  /** Room has come: start a thread if one is still wanted. */
  growIfNeeded(): void
}

/** Limits of threads and isolates over all pools of a host. A thread has one isolate. */
export class ThreadBudget {
  readonly #members = new Set<BudgetMember>()
  readonly #waiting = new Set<BudgetMember>()
  /** Threads that wait for a site: a pool that starts one takes such a thread, so that they never keep it from doing so. */
  #spare = 0
  #max: number

  constructor(max: number) {
    this.#max = max
  }

  add(member: BudgetMember): void {
    this.#members.add(member)
  }

  remove(member: BudgetMember): void {
    this.#members.delete(member)
    this.#waiting.delete(member)
    this.changed()
  }

  setMax(max: number): void {
    this.#max = max
    this.changed()
  }

  setSpare(count: number): void {
    this.#spare = count
  }

  /** True if there are more threads than the limit allows, which happens after the limit was lowered. */
  get isOverfull(): boolean {
    return this.#total() + this.#spare > this.#max
  }

  /** True if a thread that no pool has asked for may be started. */
  get hasRoomForSpare(): boolean {
    return this.#waiting.size === 0 && this.#total() + this.#spare < this.#max
  }

  /** True if the pool may start a thread now. If not, the longest idle thread of another is closed and it is told later. */
  mayStart(member: BudgetMember): boolean {
    if (this.#total() < this.#max || member.mayExceed === true) {
      this.#waiting.delete(member)
      return true
    }
    this.#waiting.add(member)
    this.#makeRoom()
    return false
  }

  /** A thread has ended or fallen idle. */
  changed(): void {
    if (this.#waiting.size === 0) return
    if (this.#total() >= this.#max) {
      this.#makeRoom()
      return
    }
    const [first] = this.#waiting
    if (first === undefined) return
    this.#waiting.delete(first)
    first.growIfNeeded()
  }

  #total(): number {
    let total = 0
    for (const member of this.#members) total += member.threadCount
    return total
  }

  #makeRoom(): void {
    let longest: BudgetMember | undefined
    for (const member of this.#members) {
      const idleMs = member.longestIdleMs
      if (idleMs !== undefined && idleMs >= (longest?.longestIdleMs ?? 0)) longest = member
    }
    longest?.closeIdleThread()
  }
}
