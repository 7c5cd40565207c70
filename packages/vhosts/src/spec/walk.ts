import type { LocationSettings, LocationSpec, RewriteStep, ServerSpec } from './spec.ts'

/** All locations of a server, those inside others behind them. */
export function locationsOf({ locations }: Pick<ServerSpec, 'locations'>): LocationSpec[] {
  return locations.flatMap((location) => [location, ...locationsOf(location)])
}

/** All settings that a request to a server may come to: outside of locations, in each of them, and in each `if` of one. */
export function settingsOfServer(server: ServerSpec): LocationSettings[] {
  return [server.fallback, ...locationsOf(server)].flatMap((settings) => [settings, ...settingsOfSteps(settings.rewrites)])
}

function settingsOfSteps(steps: readonly RewriteStep[]): LocationSettings[] {
  return steps.flatMap((step) =>
    step.kind !== 'if' ? [] : [...(step.settings === undefined ? [] : [step.settings]), ...settingsOfSteps(step.steps)],
  )
}
