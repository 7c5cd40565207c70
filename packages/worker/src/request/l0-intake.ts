import type { L0Offer } from '@svc/cache'
import type { ClientInfo, HttpRequest, ResponseHead } from '@svc/http'

/** The request that an offer is made for. */
export interface OfferingRequest {
  readonly request: HttpRequest
  readonly client: ClientInfo
  /** Number of the generation that answers. */
  readonly generation: number
  /** Id of the site. */
  readonly site: string
  readonly pathGroup: string
  /** Whether requests for the same are written in the access log. */
  readonly isAccessLogged: boolean
  /** Whether another spelling of the same path may be answered otherwise. */
  readonly isOfSpelling: boolean
}

/** An answer that L0 wants, on its way to the client. */
export interface L0Ticket {
  /** Largest body that is kept. */
  readonly maxBytes: number
  /**
   * Asks to make the answer for L0 alone, since the client gets less of it. False: it is there already, or is being made that way.
   */
  beginFill(): boolean
  /** Whether an answer with this head would be kept now. */
  mayStore(head: ResponseHead): boolean
  /** Keeps the answer if it still may be kept. The body is copied. */
  store(head: ResponseHead, body: Uint8Array): void
  /** Must be called once nothing is to be stored any more; again it does nothing. */
  end(): void
}

/** Takes in answers for L0. Owned by the pipeline; all calls are synchronous and throw nothing. */
export interface L0Intake {
  /** Whether L0 is in use. */
  readonly isEnabled: boolean
  /** An answer to this request is being made. Undefined: L0 does not want it, mostly because it is asked for the first time. */
  ticketFor(offering: OfferingRequest, offer: L0Offer): L0Ticket | undefined
}
