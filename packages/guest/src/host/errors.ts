/** Codes of errors that the guest itself raises towards a site's code. */
type GuestErrorCode =
  /** A specifier that could not be resolved, or a module that was never defined. */
  | 'MODULE_NOT_FOUND'
  /** No runner for a kind of request: the bundle is incomplete. */
  | 'GUEST_NO_RUNNER'
  /** The host called something out of order. */
  | 'GUEST_MISUSE'

/** An error of the guest. `code` is what Node's loaders use where there is such a thing. */
export class GuestError extends Error {
  readonly code: GuestErrorCode

  constructor(code: GuestErrorCode, message: string) {
    super(message)
    this.name = 'Error'
    this.code = code
  }
}
