import { asError, codeOf } from '@svc/core'
import type { HostEndpoint, HostIsolate, IsolateModules, ModulePurge, SiteSurvey } from '@svc/protocol'
import type { Logger } from '@svc/telemetry'
import { SupervisorError } from '../errors/errors.ts'
import { hostsServing, type ReachableHost } from './running-host.ts'

/** Ample time to compile a site from scratch on a busy machine. */
const FLUSH_TIMEOUT_MS = 60_000
const MODULES_TIMEOUT_MS = 30_000
const ISOLATES_TIMEOUT_MS = 2_000
const CHANGE_TIMEOUT_MS = 30_000
/** A scan times out after a third of this; it may have to wait for others. */
const SURVEY_TIMEOUT_MS = 30_000
const ROUTES_TIMEOUT_MS = 2_000
/** A site whose code does not load in this time is loaded by its first requests. */
const WARM_TIMEOUT_MS = 15_000
/** After this no further site is warmed up. */
const WARM_ALL_MS = 60_000

/** The reach of a change of a site's files. */
export interface ChangeReach {
  /** Patterns of the routes whose code was touched; null: possibly all. */
  readonly routes: readonly string[] | null
  /** Routes were added or removed: the entry of a path may belong to another route now. */
  readonly movesPaths: boolean
}

/** Calls all hosts. Ignores a host that has ended; logs other failures and leaves them out of the result. */
async function askAll<Answer>(
  hosts: readonly ReachableHost[],
  logger: Logger,
  ask: (host: ReachableHost) => Promise<Answer>,
): Promise<(Answer | undefined)[]> {
  const one = async (host: ReachableHost) => {
    try {
      return await ask(host)
    } catch (error) {
      if (codeOf(error) !== 'CORE_PEER_GONE')
        logger.warn({ host: host.id, err: asError(error) }, 'a call to a render host failed')
      return undefined
    }
  }
  return Promise.all(hosts.map(one))
}

/** Calls `onExit` if the host ends during a call: the call may be the cause. */
export async function namingLost<Answer>(call: Promise<Answer>, onExit: () => void): Promise<Answer> {
  try {
    return await call
  } catch (error) {
    if (codeOf(error) === 'CORE_PEER_GONE') onExit()
    throw error
  }
}

/** The hosts for a survey. */
interface SurveyedHosts {
  readonly endpoints: readonly HostEndpoint[]
  runningFor(site: string): ReachableHost[]
  noteInFlight(host: string, sites: readonly string[]): void
}

/**
 * Queries a host that serves a site for the content of its directory.
 * @throws SUP_NOT_READY if there is none at the moment, and the error of the host
 */
export async function surveySite(hosts: SurveyedHosts, site: string): Promise<SiteSurvey> {
  const serving = hostsServing(hosts.endpoints, site)
  const host = hosts.runningFor(site).find(({ id }) => serving.has(id))
  if (host === undefined) throw new SupervisorError('SUP_NOT_READY', `no render host serves ${site} at the moment; try again`)
  const call = host.peer.call('survey', { site }, { timeoutMs: SURVEY_TIMEOUT_MS })
  return await namingLost(call, () => hosts.noteInFlight(host.id, [site]))
}

/** Gives a site fresh isolates in every host. Resolves with the number of replaced ones. */
export async function flushSite(hosts: readonly ReachableHost[], site: string, logger: Logger): Promise<number> {
  const answers = await askAll(hosts, logger, ({ peer }) => peer.call('flush', { site }, { timeoutMs: FLUSH_TIMEOUT_MS }))
  return answers.reduce((sum, answer) => sum + (answer?.isolates ?? 0), 0)
}

/** Has every host drop compiled modules. Resolves with their number over all hosts. */
export async function forgetModules(hosts: readonly ReachableHost[], purge: ModulePurge, logger: Logger): Promise<number> {
  const answers = await askAll(hosts, logger, ({ peer }) => peer.call('purgeModules', purge, { timeoutMs: MODULES_TIMEOUT_MS }))
  return answers.reduce((sum, answer) => sum + (answer?.evicted ?? 0), 0)
}

/** Returns the compiled modules of each isolate of a site, over all hosts. */
export async function listModules(hosts: readonly ReachableHost[], site: string, logger: Logger): Promise<IsolateModules[]> {
  const answers = await askAll(hosts, logger, async ({ id, pid, peer }) => {
    const { isolates } = await peer.call('modules', { site }, { timeoutMs: MODULES_TIMEOUT_MS })
    return isolates.map((modules) => ({ host: id, pid, modules }))
  })
  return answers.flatMap((found) => found ?? [])
}

/** Isolates by host, and the hosts that did not answer in time. */
interface FoundIsolates {
  readonly isolates: readonly (HostIsolate & { readonly host: string })[]
  readonly missing: readonly string[]
}

/** Returns the isolates of sites, or of all, over all hosts. */
export async function listIsolates(
  hosts: readonly ReachableHost[],
  sites: readonly string[] | undefined,
  logger: Logger,
): Promise<FoundIsolates> {
  const answers = await askAll(hosts, logger, async ({ id, peer }) => {
    const { isolates } = await peer.call('isolates', { sites: sites?.slice() }, { timeoutMs: ISOLATES_TIMEOUT_MS })
    return isolates.map((isolate) => ({ host: id, ...isolate }))
  })
  const missing = hosts.filter((_, index) => answers[index] === undefined).map(({ id }) => id)
  return { isolates: answers.flatMap((found) => found ?? []), missing }
}

/** Files of a site that have changed, and the hosts that render the site. */
interface SiteChange {
  readonly site: string
  /** Absolute paths; none: any may have changed. */
  readonly files: readonly string[]
  /** Ids. The other hosts have rendered none of its pages, so their missing knowledge does not matter. */
  readonly serving: ReadonlySet<string>
  /** A host ended while it applied the change. */
  readonly onExit: (host: string) => void
}

/**
 * Sends every host the changed files of a site. Resolves with the routes whose code they are part of, as far as the hosts know: all
 * routes if a host that serves the site cannot tell, or if there is none.
 */
export async function propagateChange(hosts: readonly ReachableHost[], change: SiteChange, logger: Logger): Promise<ChangeReach> {
  const { site, files, serving, onExit } = change
  const answers = await askAll(hosts, logger, async ({ id, peer }) => {
    const call = peer.call('siteChanged', { site, files: [...files] }, { timeoutMs: CHANGE_TIMEOUT_MS })
    const reach = await namingLost(call, () => onExit(id))
    return { isServing: serving.has(id), ...reach }
  })
  const routes = new Set<string>()
  const movesPaths = answers.some((answer) => answer?.movesPaths === true)
  let isKnown = false
  for (const answer of answers) {
    if (answer?.routes === null && answer.isServing) return { routes: null, movesPaths }
    if (answer?.isServing === true) isKnown = true
    for (const route of answer?.routes ?? []) routes.add(route)
  }
  return { routes: isKnown ? [...routes] : null, movesPaths }
}

/**
 * Has a host load the code that another one had in use, a site at a time, so that its first requests are as fast as later ones. Logs
 * failures and leaves the rest to the requests.
 */
export async function warmLike(fresh: ReachableHost, old: ReachableHost, logger: Logger): Promise<void> {
  const [used] = await askAll([old], logger, ({ peer }) => peer.call('usedRoutes', undefined, { timeoutMs: ROUTES_TIMEOUT_MS }))
  const endAt = performance.now() + WARM_ALL_MS
  for (const { site, routes } of used?.sites ?? []) {
    if (performance.now() > endAt) return
    await askAll([fresh], logger, ({ peer }) => peer.call('warm', { site, routes: [...routes] }, { timeoutMs: WARM_TIMEOUT_MS }))
  }
}
