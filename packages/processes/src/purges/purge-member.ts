import type { Purge } from '@svc/cache'
import { asError, type Clock, codeOf } from '@svc/core'
import type { Logger } from '@svc/telemetry'

/** A process that takes part in purges. The fleets make members of their processes. */
export interface PurgeMember {
  /** Names the process in logs. */
  readonly name: string
  /** Has not built its first generation yet, and so serves nothing: it finds the purge in its pipe before any request. */
  readonly isBooting: boolean
  /** Resolves with the number of entries dropped from its memory; rejects if the process has ended. */
  purge(purge: Purge): Promise<number>
  /** Reports that the shared stores hold no entries any more that the purge matches. */
  settled(number: number): void
  kill(): void
  /** Resolves when the process has ended. */
  readonly exited: Promise<unknown>
}

/** The replies of all members. */
export interface Acknowledged {
  readonly acked: number
  readonly total: number
  /** Entries dropped, over all members. */
  readonly dropped: number
}

/** Settings of the calls to members. */
export interface AskSettings {
  readonly clock: Clock
  readonly logger: Logger
  /** A member that takes longer is killed. */
  readonly ackTimeoutMs: number
}

/** A timeout that fires this late means that this process was blocked, so replies may still be in its pipes. */
const LATE_FACTOR = 1.2
const MAX_SECOND_CHANCES = 3

/** Resolves with `late` after the timeout, which restarts as long as this process itself is late. */
function deadline({ clock, ackTimeoutMs }: AskSettings): { readonly passed: Promise<'late'>; cancel(): void } {
  const { promise, resolve } = Promise.withResolvers<'late'>()
  let chances = MAX_SECOND_CHANCES
  let cancel: () => void = () => undefined
  const arm = () => {
    const armedAt = clock.monotonic()
    cancel = clock.after(ackTimeoutMs, () => {
      const isHeldUp = clock.monotonic() - armedAt > ackTimeoutMs * LATE_FACTOR
      if (isHeldUp && chances-- > 0) arm()
      else resolve('late')
    })
  }
  arm()
  return { passed: promise, cancel: () => cancel() }
}

/** Purges one member. Resolves with its number of dropped entries; undefined: no reply, and it has ended or serves nothing yet. */
async function ask(member: PurgeMember, purge: Purge, settings: AskSettings): Promise<number | undefined> {
  const { logger } = settings
  const limit = deadline(settings)
  try {
    const dropped = await Promise.race([member.purge(purge), limit.passed])
    if (dropped !== 'late') return dropped
    if (member.isBooting) return undefined
    logger.error({ process: member.name, purge: purge.number }, 'purge timed out in a process; killing and replacing it')
  } catch (error) {
    const hasEnded = codeOf(error) === 'CORE_PEER_GONE'
    if (!hasEnded)
      logger.error({ process: member.name, purge: purge.number, err: asError(error) }, 'a process failed to apply a purge')
  } finally {
    limit.cancel()
  }
  // Its memory cache ends with it; until its exit it may serve from there.
  member.kill()
  await member.exited
  return undefined
}

/** Sends a purge to members; resolves when none of them can serve a matching entry. Never rejects. */
export async function askMembers(members: readonly PurgeMember[], purge: Purge, settings: AskSettings): Promise<Acknowledged> {
  const answers = await Promise.all(members.map((member) => ask(member, purge, settings)))
  const acked = answers.filter((answer) => answer !== undefined)
  return { acked: acked.length, total: members.length, dropped: acked.reduce((sum, count) => sum + count, 0) }
}
