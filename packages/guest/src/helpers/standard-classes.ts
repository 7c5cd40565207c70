import { Request as GuestRequestClass } from '../prelude/fetch/request.ts'
import { Response as GuestResponseClass } from '../prelude/fetch/response.ts'
import { URLSearchParams as GuestSearchParams, URL as GuestUrl } from '../prelude/fetch/url.ts'

/**
 * The guest's own classes under the types of the standard, to be extended: this is evaluated before anything is global.
 */
export const StandardRequest = GuestRequestClass as unknown as typeof Request
export const StandardResponse = GuestResponseClass as unknown as typeof Response
export const StandardURL = GuestUrl as unknown as typeof URL
export const StandardURLSearchParams = GuestSearchParams as unknown as typeof URLSearchParams
