import type { SharedScript } from '@svc/cache'
import { asError, type Clock, coalesce } from '@svc/core'
import type { Revocations } from '@svc/protocol'
import type { Logger } from '@svc/telemetry'
import type { InstanceRedis } from './instance-redis.ts'

/** The ended sessions and tokens of this instance. */
export interface OwnRevocations {
  /** All that must not be accepted. */
  readonly all: () => Revocations
  /** Adds those of other instances. Rejects if a restart would forget them: they are in force even then. */
  readonly merge: (revocations: Revocations) => Promise<void>
}

interface SharedRevocationsOptions {
  readonly redis: InstanceRedis
  /** `redis.key_prefix` */
  readonly prefix: string
  readonly own: OwnRevocations
  readonly clock: Pick<Clock, 'after' | 'now'>
  readonly logger: Logger
}

/** How often they are compared, in case a message was lost. */
const COMPARE_MS = 30_000
/** Stands for all users. No user has an empty name. */
const EVERYONE = ''

/**
 * Adds ended tokens and users, and replies with all of them. KEYS: tokens by the end of their time, users by the time before which
 * their tokens have ended. ARGV: now, the channel, the number of tokens, then pairs of time and member: tokens, users. The others
 * are told if something is new. Works with a full memory too. Keys of another type are replaced: every instance adds its own again.
 */
const SHARE: SharedScript = {
  name: 'svcShareRevocations',
  lua: `#!lua flags=allow-oom
for i = 1, 2 do
  if redis.call('TYPE', KEYS[i]).ok ~= 'zset' then redis.call('UNLINK', KEYS[i]) end
end
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', ARGV[1])
local changed = 0
for i = 4, #ARGV, 2 do
  local key = KEYS[2]
  if (i - 4) / 2 < tonumber(ARGV[3]) then key = KEYS[1] end
  changed = changed + redis.call('ZADD', key, 'GT', 'CH', ARGV[i], ARGV[i + 1])
end
if changed > 0 then redis.call('PUBLISH', ARGV[2], 'changed') end
return {redis.call('ZRANGE', KEYS[1], 0, -1, 'WITHSCORES'), redis.call('ZRANGE', KEYS[2], 0, -1, 'WITHSCORES')}
`,
}

/** Ended sessions and tokens end on all instances. Those that end while Redis is away do so when it is back. */
export class SharedRevocations {
  readonly #options: SharedRevocationsOptions
  #unsubscribe: (() => void) | undefined
  #cancelCompare: (() => void) | undefined
  #isClosed = false

  constructor(options: SharedRevocationsOptions) {
    this.#options = options
  }

  /** Resolves when this instance has the revocations of the others, or Redis did not answer. */
  async start(): Promise<void> {
    const { redis } = this.#options
    const compare = () => void this.compare()
    this.#unsubscribe = redis.subscribe(this.#channel, compare, compare)
    await this.compare()
  }

  /**
   * Brings the revocations of this instance to the others, and takes over theirs. Never rejects. Calls during a comparison share the
   * next one: that one may have read Redis before another instance wrote to it.
   */
  readonly compare = coalesce(async () => {
    await this.#exchange(this.#options.own.all())
    this.#cancelCompare?.()
    if (!this.#isClosed) this.#cancelCompare = this.#options.clock.after(COMPARE_MS, () => void this.compare())
  })

  /** Shares sessions that have just ended. Never rejects: those that Redis does not take now, it gets with the next comparison. */
  share(ended: Revocations): Promise<void> {
    return this.#exchange(ended)
  }

  close(): void {
    this.#isClosed = true
    this.#cancelCompare?.()
    this.#unsubscribe?.()
  }

  get #channel(): string {
    return `${this.#options.prefix}sessions`
  }

  async #exchange({ tokens, users, issuedBefore }: Revocations): Promise<void> {
    const { redis, prefix, own, clock, logger } = this.#options
    const everyone = issuedBefore > 0 ? [{ username: EVERYONE, issuedBefore }] : []
    const ended = [
      ...tokens.flatMap(({ jti, username, expiresAt }) => [String(expiresAt), `${jti} ${username}`]),
      ...[...users, ...everyone].flatMap(({ username, issuedBefore: before }) => [String(before), username]),
    ]
    const keys = [`${prefix}{sessions}:tokens`, `${prefix}{sessions}:users`]
    const reply = await redis
      .script(SHARE, keys, [String(clock.now()), this.#channel, String(tokens.length), ...ended])
      .catch(() => undefined)
    // The connection counts and reports that it is away.
    if (!Array.isArray(reply) || this.#isClosed) return
    const [ofTokens, ofUsers] = reply.map(pairsOf)
    await own
      .merge({
        tokens: (ofTokens ?? []).map(([member, expiresAt]) => ({ ...tokenOf(member), expiresAt })),
        users: (ofUsers ?? []).flatMap(([username, before]) =>
          username === EVERYONE ? [] : [{ username, issuedBefore: before }],
        ),
        issuedBefore: ofUsers?.find(([username]) => username === EVERYONE)?.[1] ?? 0,
      })
      .catch((error: unknown) =>
        logger.error({ err: asError(error) }, 'failed to save that sessions have ended on another instance'),
      )
  }
}

/** Ids of tokens have no space. */
function tokenOf(member: string): { jti: string; username: string } {
  const space = member.indexOf(' ')
  return { jti: member.slice(0, space), username: member.slice(space + 1) }
}

/** Members with their scores. */
function pairsOf(reply: unknown): [member: string, score: number][] {
  if (!Array.isArray(reply)) return []
  const pairs: [string, number][] = []
  for (let i = 0; i + 1 < reply.length; i += 2) pairs.push([String(reply[i]), Number(String(reply[i + 1]))])
  return pairs.filter(([, score]) => Number.isFinite(score))
}
