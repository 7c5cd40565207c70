/** A render host that ended with renders in flight. */
interface Abort {
  /** Milliseconds of a monotonic clock. */
  readonly at: number
  /** Name of the place whose host ended. */
  readonly place: string
  /** Sites known to have had renders in flight. */
  readonly sites: readonly string[]
}

/** Sites that are isolated from the others: suspects, or one site that is known to crash its host. */
interface Group {
  readonly name: string
  readonly sites: readonly string[]
  /** Time of the last end of its host, or of the creation of the group. */
  readonly lastAbortAt: number
}

/** Assignment of sites to hosts of their own. All other sites share. */
export interface Placement {
  readonly groups: readonly Group[]
  /** The last abort of a shared host, waiting for a second one. */
  readonly pending: Abort | undefined
  /** Numbers the names of groups. */
  readonly made: number
}

/** Two aborts within this time make suspects of the sites that were in flight at both. */
const SUSPICION_MS = 60_000
/** A group without an abort for this long goes back to the shared hosts. */
const RELEASE_MS = 600_000

export const nothingApart: Placement = Object.freeze({ groups: [], pending: undefined, made: 0 })

/** True if the group is one site that was identified as the cause. */
export function isQuarantine(group: Group): boolean {
  return group.sites.length === 1
}

function common(left: readonly string[], right: readonly string[]): string[] {
  return left.filter((site) => right.includes(site))
}

/** Makes one group of a single site, or two halves of several: the next abort halves the suspects again. */
function setApart(made: number, sites: readonly string[], at: number): Group[] {
  const middle = Math.ceil(sites.length / 2)
  const halves = sites.length === 1 ? [sites] : [sites.slice(0, middle), sites.slice(middle)]
  return halves.map((half, i) => ({ name: `apart-${made + i + 1}`, sites: half, lastAbortAt: at }))
}

/** Returns the placement after an abort. */
export function afterAbort(placement: Placement, abort: Abort): Placement {
  const group = placement.groups.find((candidate) => candidate.name === abort.place)
  return group === undefined ? afterSharedAbort(placement, abort) : afterGroupAbort(placement, group, abort)
}

function afterSharedAbort(placement: Placement, abort: Abort): Placement {
  const before = placement.pending
  const suspects = before !== undefined && abort.at - before.at <= SUSPICION_MS ? common(before.sites, abort.sites) : []
  if (suspects.length === 0) return { ...placement, pending: abort }
  const groups = setApart(placement.made, suspects, abort.at)
  return { groups: [...placement.groups, ...groups], pending: undefined, made: placement.made + groups.length }
}

function afterGroupAbort(placement: Placement, group: Group, abort: Abort): Placement {
  const others = placement.groups.filter((other) => other !== group)
  if (isQuarantine(group)) return { ...placement, groups: [...others, { ...group, lastAbortAt: abort.at }] }
  const seen = common(group.sites, abort.sites)
  const groups = setApart(placement.made, seen.length === 0 ? group.sites : seen, abort.at)
  // This abort clears the other half; a site in quarantine stays there.
  return { ...placement, groups: [...others.filter(isQuarantine), ...groups], made: placement.made + groups.length }
}

/** Dissolves groups that have been stable for long enough, and forgets removed sites. */
export function release(placement: Placement, now: number, sites: readonly string[]): Placement {
  const groups = placement.groups
    .map((group) => ({ ...group, sites: common(group.sites, sites) }))
    .filter((group) => group.sites.length > 0 && now - group.lastAbortAt < RELEASE_MS)
  return { ...placement, groups }
}
