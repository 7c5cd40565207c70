import { type Guarded, guard } from '@svc/core'

/** Selects entries of L0: see `L0Query` of the cache package. */
export const l0Query = guard.object({
  labels: guard.optional(guard.arrayOf(guard.string)),
  tags: guard.optional(guard.arrayOf(guard.string)),
  prefix: guard.optional(guard.string),
  limit: guard.number,
  after: guard.string,
})
export type L0ListQuery = Guarded<typeof l0Query>

/** A response in L0 without its body. Times are milliseconds since the epoch. */
const l0Response = guard.object({
  digest: guard.string,
  key: guard.string,
  label: guard.string,
  host: guard.string,
  path: guard.string,
  query: guard.string,
  tags: guard.arrayOf(guard.string),
  status: guard.number,
  bytes: guard.number,
  storedAt: guard.number,
  /** Null: for ever. */
  freshUntil: guard.nullable(guard.number),
  hits: guard.number,
})
export type L0Response = Guarded<typeof l0Response>

/** Responses of one worker in the order of their digests: all up to `until`, or all there are. */
export const l0List = guard.object({ entries: guard.arrayOf(l0Response), until: guard.optional(guard.string) })
export type L0List = Guarded<typeof l0List>

/** Responses of all workers, those of one key as one. `missing`: workers that did not answer in time, as `w1`. */
export const l0Page = guard.object({
  entries: guard.arrayOf(l0Response),
  /** Null at the end. */
  cursor: guard.nullable(guard.string),
  missing: guard.arrayOf(guard.string),
})
export type L0Page = Guarded<typeof l0Page>

/** Looks for a response. The bytes of the reply are the first `maxBytes` of its body. */
export const l0Lookup = guard.object({ key: guard.string, maxBytes: guard.number })
export const l0Found = guard.object({ entry: guard.optional(l0Response) })
