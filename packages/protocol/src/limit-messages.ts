import { type Guarded, guard } from '@svc/core'

/** One `limit_req` that applies to a request. Thousandths of requests. */
const requestLimit = guard.object({ zone: guard.string, key: guard.string, burst: guard.number, delay: guard.number })

/** Requests, each with the limits that apply to it, in their order. */
export const requestLimitOrders = guard.object({ orders: guard.arrayOf(guard.arrayOf(requestLimit)) })
export type RequestLimitOrder = Guarded<typeof requestLimitOrders>['orders'][number]

const requestLimitReply = guard.object({
  /** Index of the limit that refuses the request; -1: none does; -2: a zone is not known. */
  refusedBy: guard.number,
  /** Excess of that limit. */
  excess: guard.number,
  /** Milliseconds for which a request that passes is to wait. */
  delayMs: guard.number,
})
export type RequestLimitReply = Guarded<typeof requestLimitReply>
export const requestLimitReplies = guard.object({ replies: guard.arrayOf(requestLimitReply) })

/** One `limit_conn` that applies to a request. */
const connectionLimit = guard.object({ zone: guard.string, key: guard.string, max: guard.number })

/** Requests in progress that are to be counted, by ids of the worker. */
export const connectionOrders = guard.object({
  orders: guard.arrayOf(guard.object({ id: guard.number, limits: guard.arrayOf(connectionLimit) })),
})
export type ConnectionOrder = Guarded<typeof connectionOrders>['orders'][number]

/** Of each request: it is counted; a limit refuses it; a zone is not known. */
export const connectionReplies = guard.object({ replies: guard.arrayOf(guard.oneOf('counted', 'refused', 'unknown')) })
export type ConnectionReply = Guarded<typeof connectionReplies>['replies'][number]

/** Ids of requests that have ended. */
export const endedConnections = guard.object({ ids: guard.arrayOf(guard.number) })
