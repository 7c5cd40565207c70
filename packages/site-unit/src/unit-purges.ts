import type { Purge, PurgeState } from '@svc/cache'

/** What the unit of a site knows of purges while it hears of them: what a render host that it starts has to be told. */
export class UnitPurges {
  readonly #unsettled = new Map<number, Purge>()
  /** Names the master's process that this was heard from. */
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
