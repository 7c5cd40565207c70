import { guard, method } from '@svc/core'
import type { GenerationSpec, HostEndpoint } from './generation.ts'
import { healthReport, siteManifestInfo } from './reports.ts'

const generationSpec = guard.anything as guard.Guard<GenerationSpec>
const hostEndpoints = guard.arrayOf(
  guard.object({ id: guard.string, socket: guard.string, token: guard.string, sites: guard.anything }),
) as guard.Guard<HostEndpoint[]>

/** What a worker answers to the master. */
export const workerMethods = {
  /** Builds generation n+1 beside the current one. Rejects when it cannot. */
  prepare: method(guard.object({ spec: generationSpec, hosts: hostEndpoints }), guard.nothing),
  /** Swaps to the prepared generation: listens on new addresses, stops listening on old ones. */
  commit: method(guard.object({ generation: guard.number }), guard.nothing),
  /** Forgets a prepared generation. */
  abandon: method(guard.object({ generation: guard.number }), guard.nothing),
  /** The set of render hosts has changed (one died and was replaced, or was added). */
  hosts: method(guard.object({ hosts: hostEndpoints }), guard.nothing),
  /** A site's files changed: forget its manifest. */
  siteChanged: method(guard.object({ site: guard.string }), guard.nothing),
  /** Stops accepting, finishes what is in flight, and answers with how many requests and connections were cut. */
  drain: method(guard.object({ timeoutMs: guard.number }), guard.object({ cut: guard.number })),
  /** Cuts everything at once: the second signal. */
  cut: method(guard.nothing, guard.nothing),
  ping: method(guard.nothing, guard.object({ connections: guard.number, inFlight: guard.number })),
  /** prom-client metrics of the process as JSON (`registry.getMetricsAsJSON()`). */
  metrics: method(guard.nothing, guard.object({ metrics: guard.anything })),
} as const

/** What the master answers to a worker. */
export const masterMethods = {
  /** The worker serves this generation. Sent once after each commit, the first time when it listens. */
  ready: method(guard.object({ generation: guard.number, pid: guard.number }), guard.nothing),
  /** A render host went away; these sites had renders in flight on it. Helps to find the site that brings hosts down. */
  hostLost: method(guard.object({ host: guard.string, sites: guard.arrayOf(guard.string) }), guard.nothing),
  health: method(guard.nothing, healthReport),
  /** All metrics of the instance in the text exposition format. */
  metrics: method(guard.nothing, guard.object({ text: guard.string })),
  /** A route table or site fact for an endpoint or the command line. */
  siteInfo: method(guard.object({ site: guard.string }), siteManifestInfo),
} as const
