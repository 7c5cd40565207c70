/**
 * Has a site's latest files take effect before a request is answered, in development mode. However many requests wait, one question
 * for each site is on its way to the master, and one waits for its end: it is sent after every request that waits for it.
 */
export class LatestFiles {
  readonly #settle: (site: string) => Promise<void>
  readonly #asking = new Map<string, Promise<void>>()
  readonly #waiting = new Map<string, Promise<void>>()

  constructor(settle: (site: string) => Promise<void>) {
    this.#settle = settle
  }

  /** Resolves when every write before this call has taken effect. Never rejects: without the master the watcher still does its work. */
  settled(site: string): Promise<void> {
    const asking = this.#asking.get(site)
    if (asking === undefined) return this.#ask(site)
    const known = this.#waiting.get(site)
    if (known !== undefined) return known
    const next = asking.then(() => {
      this.#waiting.delete(site)
      return this.#ask(site)
    })
    this.#waiting.set(site, next)
    return next
  }

  #ask(site: string): Promise<void> {
    const ended = () => void this.#asking.delete(site)
    const asking = this.#settle(site).then(ended, ended)
    this.#asking.set(site, asking)
    return asking
  }
}
