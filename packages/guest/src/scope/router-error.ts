/** Codes of errors that the router raises inside an isolate; the message tells the site's author how to fix it. */
type RouterErrorCode =
  /** A helper was called outside of a request, e.g. while a module is loaded. */
  | 'ROUTER_NO_REQUEST'
  /** Something was read or written where the App Router does not allow it. */
  | 'ROUTER_MISUSE'
  /** `dynamic = "error"` and the segment read its request. */
  | 'ROUTER_DYNAMIC_READ'
  /** A module of the site has no usable export, or its function answered with a wrong value. */
  | 'ROUTER_BAD_EXPORT'
  /** An argument of a helper is not valid. */
  | 'ROUTER_BAD_ARGUMENT'
  /** A purge that the site's code asked for was not carried out. */
  | 'ROUTER_PURGE_FAILED'

/** An error of the router. Plain, because the guest bundle carries no other package. */
export class RouterError extends Error {
  readonly code: RouterErrorCode

  constructor(code: RouterErrorCode, message: string) {
    super(message)
    this.name = 'RouterError'
    this.code = code
  }
}
