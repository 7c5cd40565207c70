import { type OnReadOpts, Socket } from 'node:net'

/**
 * A socket of which what the server has said is read although nothing more can be written: a server that refuses a body answers and
 * closes the connection, which is found out by writing before the answer is read.
 */
export class UpstreamSocket extends Socket {
  #isFailing = false

  constructor(onread: OnReadOpts | undefined) {
    super(onread === undefined ? {} : { onread })
    this.setNoDelay(true)
  }

  override destroy(error?: Error & { readonly syscall?: string }): this {
    if (error?.syscall !== 'write') return super.destroy(error)
    if (this.#isFailing) return this
    this.#isFailing = true
    // Between the two the system is asked for everything that has come.
    setImmediate(() => setImmediate(() => super.destroy(error)))
    return this
  }
}
