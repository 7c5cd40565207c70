import type { SharedScript } from '@svc/cache'
import type { Clock } from '@svc/core'
import type { Logger } from '@svc/telemetry'
import type { InstanceRedis } from '../instances/instance-redis.ts'

/** A run that wants to begin. */
interface RunClaim {
  readonly task: string
  readonly run: string
  /** Time of the schedule, in milliseconds since the epoch. Undefined: no other instance may have taken it. */
  readonly dueMs: number | undefined
  /** How long it lasts at most. */
  readonly maxMs: number
}

/** `taken`: another instance runs the task for this time. `busy`: a run of the task has not ended. */
type ClaimResult = 'granted' | 'taken' | 'busy'

/** The clocks of instances differ by less, and a late instance asks before. */
const DUE_KEPT_MS = 86_400_000

/**
 * KEYS: the last time of the schedule that was taken and its run, the run in progress. ARGV: time of the schedule or "", id of the run,
 * its longest time, and how long the first key is kept. A busy task keeps its time: the instance that has taken it runs it later, or
 * skips it. The same claim again gets the same result: a reply may be lost.
 */
const CLAIM: SharedScript = {
  name: 'svcClaimRun',
  lua: `
if ARGV[1] ~= '' then
  local due = tonumber(ARGV[1])
  local last, owner = string.match(redis.call('GET', KEYS[1]) or '0 ', '^(%d+) (.*)$')
  last = tonumber(last or '0')
  if last > due or (last == due and owner ~= ARGV[2]) then return 'taken' end
  redis.call('SET', KEYS[1], ARGV[1] .. ' ' .. ARGV[2], 'PX', ARGV[4])
end
local running = redis.call('GET', KEYS[2])
if running and running ~= ARGV[2] then return 'busy' end
redis.call('SET', KEYS[2], ARGV[2], 'PX', ARGV[3])
return 'granted'
`,
}

/** KEYS: the run in progress. ARGV: its id. */
const RELEASE: SharedScript = {
  name: 'svcReleaseRun',
  lua: `if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end return 1`,
}

/** How often a claim is tried before this instance decides alone, and the pause between tries. */
const TRIES = 5
const RETRY_MS = 400
/** Time beyond that of a run until its claim ends by itself: its instance has died. */
const MARGIN_MS = 10_000

type Redis = Pick<InstanceRedis, 'script'>

interface RunClaimsOptions {
  /** Undefined: this instance shares no Redis. */
  readonly redis: Redis | undefined
  /** `redis.key_prefix` */
  readonly prefix: string
  readonly clock: Pick<Clock, 'after'>
  readonly logger: Logger
}

/**
 * Decides which runs begin: one of a task at a time, and with Redis one for each time of its schedule over all instances. While Redis is
 * away each instance runs its tasks: a task that runs twice does less harm than one that does not run.
 */
export class RunClaims {
  readonly #options: RunClaimsOptions
  readonly #running = new Map<string, string>()
  #isAlone = false

  constructor(options: RunClaimsOptions) {
    this.#options = options
  }

  async claim(claim: RunClaim): Promise<ClaimResult> {
    const { task, run } = claim
    const { redis, clock, logger } = this.#options
    for (let tries = 0; redis !== undefined && tries < (this.#isAlone ? 1 : TRIES); tries++) {
      if (tries > 0) await new Promise<void>((resolve) => clock.after(RETRY_MS, resolve))
      const result = await this.#claimShared(redis, claim).catch(() => undefined)
      if (result === undefined) continue
      this.#isAlone = false
      if (result !== 'granted') return result
      // A run that began while Redis was away is known here alone.
      const here = this.#claimHere(task, run)
      if (here === 'busy') await this.#releaseShared(task, run)
      return here
    }
    if (redis !== undefined && !this.#isAlone) {
      this.#isAlone = true
      logger.warn('Redis is away: each instance runs its tasks by itself')
    }
    return this.#claimHere(task, run)
  }

  /** A run has ended. Never rejects. */
  async release(task: string, run: string): Promise<void> {
    if (this.#running.get(task) === run) this.#running.delete(task)
    await this.#releaseShared(task, run)
  }

  async #claimShared(redis: Redis, { task, run, dueMs, maxMs }: RunClaim): Promise<ClaimResult> {
    const words = [dueMs === undefined ? '' : String(dueMs), run, String(maxMs + MARGIN_MS), String(DUE_KEPT_MS)]
    return String(await redis.script(CLAIM, this.#keysOf(task), words)) as ClaimResult
  }

  async #releaseShared(task: string, run: string): Promise<void> {
    const [, running] = this.#keysOf(task)
    await this.#options.redis?.script(RELEASE, [running], [run]).catch(() => undefined)
  }

  #claimHere(task: string, run: string): ClaimResult {
    if (this.#running.has(task)) return 'busy'
    this.#running.set(task, run)
    return 'granted'
  }

  #keysOf(task: string): [due: string, running: string] {
    const name = `${this.#options.prefix}task:{${encodeURIComponent(task)}}`
    return [`${name}:due`, `${name}:running`]
  }
}
