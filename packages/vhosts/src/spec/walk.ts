import type { ContentSpec, LocationSettings, LocationSpec, RewriteStep, ServerSpec, UpstreamContent } from './spec.ts'

/** All locations of a server, those inside others behind them. */
export function locationsOf({ locations }: Pick<ServerSpec, 'locations'>): LocationSpec[] {
  return locations.flatMap((location) => [location, ...locationsOf(location)])
}

/** All settings that a request to a server may come to: outside of locations, in each of them, and in each `if` and `limit_except` of one. */
export function settingsOfServer(server: ServerSpec): LocationSettings[] {
  const locations = locationsOf(server)
  const limited = locations.flatMap(({ limitExcept }) => limitExcept?.settings ?? [])
  return [server.fallback, ...locations, ...limited].flatMap((settings) => [settings, ...settingsOfSteps(settings.rewrites)])
}

function settingsOfSteps(steps: readonly RewriteStep[]): LocationSettings[] {
  return steps.flatMap((step) =>
    step.kind !== 'if' ? [] : [...(step.settings === undefined ? [] : [step.settings]), ...settingsOfSteps(step.steps)],
  )
}

/** Returns the server of an address for clients without a server name: the declared default, else the first. */
export function defaultServer(address: string, servers: readonly ServerSpec[]): ServerSpec | undefined {
  const ofAddress = servers.filter(({ listen }) => listen.some((one) => one.address === address))
  return ofAddress.find(({ listen }) => listen.some((one) => one.address === address && one.isDefault)) ?? ofAddress[0]
}

/** True if an upstream answers the requests of a location. */
export function isPassed(content: ContentSpec): content is UpstreamContent {
  return 'target' in content
}

/** Codes of nginx for faults that are found before a location is: all of them get 400, unless a page is shown for them. */
export const EARLY_FAULTS = { certificate: 495, noCertificate: 496, plainHttp: 497 } as const

/** True if a server has a page for a fault that is found before a location is. */
export function hasEarlyPage({ fallback }: ServerSpec, fault: number): boolean {
  return fallback.errorPages.some(({ statuses }) => statuses.includes(fault))
}
