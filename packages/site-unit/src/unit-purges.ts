import type { Purge, PurgeState } from '@svc/cache'

/** The unit's state of purges while it is connected, for the render hosts that it starts. */
export class UnitPurges {
  readonly #unsettled = new Map<number, Purge>()
  /** Identifies the master's process that sent this state. */
  readonly boot: string
  #last: number

  constructor({ last, unsettled }: PurgeState, boot: string) {
    this.boot = boot
    this.#last = last
    for (const purge of unsettled) this.#unsettled.set(purge.number, purge)
  }

  get last(): number {
    return this.#last
  }

  add(purge: Purge): void {
    this.#last = Math.max(this.#last, purge.number)
    this.#unsettled.set(purge.number, purge)
  }

  settled(number: number): void {
    this.#unsettled.delete(number)
  }

  state(): PurgeState {
    return { last: this.#last, unsettled: [...this.#unsettled.values()] }
  }
}
