import { Store } from './store.ts'

export type Role = 'viewer' | 'tenant_admin' | 'super_admin'

/** The user as the server names it. */
export interface User {
  readonly username: string
  readonly role: Role
  readonly tenant_id: string | null
}

/** The session of the user, and the login that is needed when it has ended. */
export class Session {
  readonly user: User | undefined
  /** True while a request waits for a login. */
  readonly isEnded = new Store(false)
  #waiting: PromiseWithResolvers<void> | undefined

  constructor(user: User | undefined) {
    this.user = user
  }

  /** Asks for a login over the page; resolves when the user has logged in. */
  renewed(): Promise<void> {
    this.#waiting ??= Promise.withResolvers<void>()
    this.isEnded.set(true)
    return this.#waiting.promise
  }

  /** A login succeeded. Another user may see other things: the page reloads. */
  began(user: User): void {
    if (this.user === undefined || user.username !== this.user.username || user.role !== this.user.role) {
      location.reload()
      return
    }
    this.isEnded.set(false)
    this.#waiting?.resolve()
    this.#waiting = undefined
  }
}
