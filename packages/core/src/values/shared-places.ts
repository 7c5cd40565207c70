/**
 * Counts places that several users take, such as sites. A user may take one more only while it has fewer than are free: alone it gets
 * half of them, beside one other a third, and a place is left for the next user.
 */
export class SharedPlaces {
  readonly #max: number
  readonly #byUser = new Map<string, number>()
  #taken = 0

  constructor(max: number) {
    this.#max = max
  }

  /** Places in use. */
  get taken(): number {
    return this.#taken
  }

  /** True if the user may take one more. */
  hasRoom(user: string): boolean {
    return (this.#byUser.get(user) ?? 0) < this.#max - this.#taken
  }

  /** Takes a place, without a look at the bound. */
  take(user: string): void {
    this.#taken++
    this.#byUser.set(user, (this.#byUser.get(user) ?? 0) + 1)
  }

  /** Gives back a place that the user took. */
  free(user: string): void {
    const rest = (this.#byUser.get(user) ?? 0) - 1
    if (rest < 0) return
    this.#taken--
    if (rest === 0) this.#byUser.delete(user)
    else this.#byUser.set(user, rest)
  }
}
