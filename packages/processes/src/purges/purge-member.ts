import type { Purge } from '@svc/cache'
import { asError, type Clock, codeOf, deferred } from '@svc/core'
import type { Logger } from '@svc/telemetry'

/** A process that takes part in purges. The fleets make them of their processes. */
export interface PurgeMember {
  /** Names the process in logs. */
  readonly name: string
  /** Has not built its first generation yet, and so serves nothing: it finds the purge in its pipe before any request. */
  readonly isBooting: boolean
  /** Settles with how many entries it dropped from its memory, or rejects when it is gone. */
  purge(purge: Purge): Promise<number>
  /** Tells it that the shared stores hold nothing any more that the purge matches. */
  settled(number: number): void
  kill(): void
  /** Resolves when the process has ended. */
  readonly exited: Promise<unknown>
}

/** What came back from all members. */
export interface Acknowledged {
  readonly acked: number
  readonly total: number
  /** Entries dropped, over all members. */
  readonly dropped: number
}

/** How members are asked. */
export interface AskSettings {
  readonly clock: Clock
  readonly logger: Logger
  /** A member that takes longer is killed. */
  readonly ackTimeoutMs: number
}

/** A timeout that comes this much late says that this process was held up, and so may be the answers in its pipes. */
const LATE_FACTOR = 1.2
const MAX_SECOND_CHANCES = 3

/** Resolves with `late` after the time, which counts anew while it is this process that is late. */
function deadline({ clock, ackTimeoutMs }: AskSettings): { readonly passed: Promise<'late'>; cancel(): void } {
  const { promise, resolve } = deferred<'late'>()
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

/** Asks one member. Resolves with what it dropped, or undefined when it did not answer: then it has ended, or serves nothing yet. */
async function ask(member: PurgeMember, purge: Purge, settings: AskSettings): Promise<number | undefined> {
  const { logger } = settings
  const limit = deadline(settings)
  try {
    const dropped = await Promise.race([member.purge(purge), limit.passed])
    if (dropped !== 'late') return dropped
    if (member.isBooting) return undefined
    logger.error({ process: member.name, purge: purge.number }, 'no answer to a purge: the process is killed and replaced')
  } catch (error) {
    const isGone = codeOf(error) === 'CORE_PEER_GONE'
    if (!isGone) logger.error({ process: member.name, purge: purge.number, err: asError(error) }, 'a purge was refused')
  } finally {
    limit.cancel()
  }
  // What it keeps in memory goes with it; until it has gone it may serve that.
  member.kill()
  await member.exited
  return undefined
}

/** Tells members of a purge; resolves when none of them can serve what it takes away. Never rejects. */
export async function askMembers(members: readonly PurgeMember[], purge: Purge, settings: AskSettings): Promise<Acknowledged> {
  const answers = await Promise.all(members.map((member) => ask(member, purge, settings)))
  const acked = answers.filter((answer) => answer !== undefined)
  return { acked: acked.length, total: members.length, dropped: acked.reduce((sum, count) => sum + count, 0) }
}
