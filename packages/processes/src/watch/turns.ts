/** How often a site is looked at: "live" ones at every tick, "used" ones at every interval, "cold" ones at a tenth of them. */
export type Heat = 'live' | 'used' | 'cold'

/** Cold sites are gone through once in this many intervals. */
const COLD_ROUNDS = 10

/** Which sites to look at in a tick, and where the next tick goes on among the cold ones. */
interface Turn<Site> {
  readonly due: readonly Site[]
  readonly nextCold: number
}

/**
 * Chooses the sites of a tick. `isInterval` is true at ticks that end a full interval. A site that was never seen is always due:
 * only a second look can show a change.
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
