/**
 * Keeps a request from running that stands behind a response which closes its connection, in the same packet. The library goes on
 * with such a packet once the response is complete, and does not say to which connection a request belongs. But it closes the connection at the
 * end of the packet: a request that comes before any connection has closed stands in the same packet. One per engine.
 */
export class CloseGuard {
  #address = ''
  /** True if the next request may stand behind such a response. */
  isArmed = false
  readonly #disarm = (): void => this.disarm()

  /** Such a response has been written within its handler, which returns. @param address of the peer */
  arm(address: string): void {
    this.#address = address
    this.isArmed = true
    // A connection that cannot take the whole response closes later. Other requests of this turn may be taken for its own by then.
    setImmediate(this.#disarm)
  }

  /** A connection has closed. */
  disarm(): void {
    this.isArmed = false
  }

  /** True if this request must not run. Only the next one is looked at: behind that the library closes the connection. */
  catches(address: string): boolean {
    const isCaught = this.isArmed && this.#address === address
    this.isArmed = false
    return isCaught
  }
}
