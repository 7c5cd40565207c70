import { type Guarded, guard } from '@svc/core'

/** Requests of one client that a worker asks for. Clients are named as `clientNetwork` does. */
const sliceOrder = guard.object({
  client: guard.string,
  /** Requests that the worker has let pass ahead of a slice. They count, in any case. */
  passed: guard.number,
  /** Requests that wait for the reply. */
  waiting: guard.number,
  /** Requests that were refused since the last order. */
  refused: guard.number,
})

/** A slice of the budget of a client: so many requests may pass within the time. */
const slice = guard.object({
  requests: guard.number,
  /** Second of the window that they count in. */
  second: guard.number,
  /** True if that is a second of the clock of Redis. */
  isShared: guard.boolean,
  /** Milliseconds from the order in which they may pass. */
  validMs: guard.number,
  /** Requests of the budget that are left in the window. */
  left: guard.number,
  /** Milliseconds until more are left; of a slice of 0. */
  retryMs: guard.number,
})

export const sliceOrders = guard.object({ orders: guard.arrayOf(sliceOrder) })
export const slices = guard.object({ slices: guard.arrayOf(slice) })
export type SliceOrder = Guarded<typeof sliceOrder>
export type Slice = Guarded<typeof slice>

/** The part of a slice that no request has used in its time. */
const unusedSlice = guard.object({
  client: guard.string,
  requests: guard.number,
  second: guard.number,
  isShared: guard.boolean,
})
export const unusedSlices = guard.object({ unused: guard.arrayOf(unusedSlice) })
export type UnusedSlice = Guarded<typeof unusedSlice>

const countedClient = guard.object({
  client: guard.string,
  /** In the last window. */
  requests: guard.number,
  /** Since the client was first seen. */
  refused: guard.number,
  /** Seconds until a request of it may pass; 0: now. */
  retry_after_secs: guard.number,
})

/** The clients that are near their budget, or over it: the busiest first. */
export const countedClients = guard.object({
  enabled: guard.boolean,
  budget: guard.number,
  window_secs: guard.number,
  distributed: guard.boolean,
  /** Clients that are counted, listed or not. */
  counted: guard.number,
  clients: guard.arrayOf(countedClient),
})
export type CountedClients = Guarded<typeof countedClients>
