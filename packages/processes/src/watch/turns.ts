/** Frequency of a site's checks: "live" at every tick, "used" at every interval, "cold" at every tenth interval. */
export type Heat = 'live' | 'used' | 'cold'

/** Each cold site is checked once in this many intervals. */
const COLD_ROUNDS = 10

/** Sites to check in a tick, and the cold site at which the next tick continues. */
interface Turn<Site> {
  readonly due: readonly Site[]
  readonly nextCold: number
}

/**
 * Chooses the sites of a tick. `isInterval` is true at ticks that end a full interval. A site without a snapshot is always due: only
 * a second check can show a change.
 */
export function chooseTurn<Site>(
  sites: readonly Site[],
  heatOf: (site: Site) => Heat,
  isSeen: (site: Site) => boolean,
  isInterval: boolean,
  nextCold: number,
): Turn<Site> {
  const heats = sites.map(heatOf)
  const cold = sites.filter((_, i) => heats[i] === 'cold')
  const share = isInterval ? Math.ceil(cold.length / COLD_ROUNDS) : 0
  const start = cold.length === 0 ? 0 : nextCold % cold.length
  const turn = new Set([...cold.slice(start, start + share), ...cold.slice(0, Math.max(0, start + share - cold.length))])
  const isDue = (site: Site, heat: Heat | undefined) =>
    heat === 'live' || (heat === 'used' && isInterval) || turn.has(site) || !isSeen(site)
  return { due: sites.filter((site, i) => isDue(site, heats[i])), nextCold: start + share }
}
