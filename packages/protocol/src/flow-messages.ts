import { type Guarded, guard } from '@svc/core'

/** One part of the passage of a request through a worker. Times are relative to the beginning of the request. */
const flowStage = guard.object({
  name: guard.string,
  start_ms: guard.number,
  duration_ms: guard.number,
  outcome: guard.string,
})

/** The passage of one request. */
const flow = guard.object({
  request_id: guard.string,
  /** RFC 3339 in UTC. */
  at: guard.string,
  /** Id of the site; "": none was found. */
  site: guard.string,
  method: guard.string,
  path: guard.string,
  status: guard.number,
  duration_ms: guard.number,
  reason: guard.oneOf('slow', 'failed', 'sample'),
  stages: guard.arrayOf(flowStage),
})
export type Flow = Guarded<typeof flow>

const selection = {
  /** Ids of sites; undefined: of all. */
  sites: guard.optional(guard.arrayOf(guard.string)),
  reason: guard.optional(guard.string),
}

/** The place of a flow in their order. */
export type FlowPlace = Pick<Flow, 'at' | 'request_id'>

/** Selects flows as they are recorded. */
export const flowFilter = guard.object(selection)
export type FlowFilter = Guarded<typeof flowFilter>

/** Selects recorded flows. */
export const flowQuery = guard.object({
  ...selection,
  request_id: guard.optional(guard.string),
  sinceMs: guard.optional(guard.number),
  /** Flows from this one on are left out. */
  before: guard.optional(guard.object({ at: guard.string, request_id: guard.string })),
  limit: guard.number,
})
export type FlowQuery = Guarded<typeof flowQuery>

/** The order of flows: the newest first. */
export function newerFirst(one: FlowPlace, other: FlowPlace): number {
  if (one.at !== other.at) return one.at < other.at ? 1 : -1
  return one.request_id === other.request_id ? 0 : one.request_id < other.request_id ? 1 : -1
}

/** True if a flow is one of those that a filter selects. */
export function isSelected({ site, reason }: Flow, filter: FlowFilter): boolean {
  return filter.sites?.includes(site) !== false && (filter.reason === undefined || filter.reason === reason)
}

/** Flows that a worker has recorded, in order. */
export const flowBatch = guard.arrayOf(flow)

/** Flows of one worker, the newest first. */
export const flowList = guard.object({ flows: guard.arrayOf(flow) })

/** Flows of the instance, the newest first: `answered` of `total` workers are in it. */
export const flowPage = guard.object({ flows: guard.arrayOf(flow), answered: guard.number, total: guard.number })
export type FlowPage = Guarded<typeof flowPage>
