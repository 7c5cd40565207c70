import type { SharedScript } from '@svc/cache'
import type { Slice, SliceOrder, UnusedSlice } from '@svc/protocol'
import type { InstanceRedis } from '../instances/instance-redis.ts'
import { type Budget, COUNTED_SECONDS } from './budget.ts'

/**
 * Counts requests of a client, and hands out a slice. KEYS: the client's requests by second. ARGV: limit, largest slice, smallest slice, reserve,
 * parts (see `sliceOf`), requests that have passed, requests that wait, requests that are given back, and their second.
 * Replies the slice, its second, milliseconds to the end of that, requests left, and milliseconds until more are left.
 */
const COUNT: SharedScript = {
  name: 'svcRateLimit',
  lua: `
local time = redis.call('TIME')
local now, millis = tonumber(time[1]), math.floor(time[2] / 1000)
local limit, most, least = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local reserve, parts, passed = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local waiting, unused = tonumber(ARGV[7]), tonumber(ARGV[8])
local total, first = 0, now
local counts = redis.call('HGETALL', KEYS[1])
for i = 1, #counts, 2 do
  local second, count = tonumber(counts[i]), tonumber(counts[i + 1])
  if unused > 0 and counts[i] == ARGV[9] then
    local back = math.min(unused, count)
    count = redis.call('HINCRBY', KEYS[1], counts[i], -back)
  end
  if count <= 0 or second <= now - ${COUNTED_SECONDS} or second > now + ${COUNTED_SECONDS} then redis.call('HDEL', KEYS[1], counts[i])
  else
    total = total + count
    if second < first then first = second end
  end
end
local left = math.max(0, limit - total - passed)
local ahead = math.min(most, math.max(least, math.floor((left - reserve) / parts)))
local slice = math.max(0, math.min(left, math.max(waiting, ahead)))
if slice + passed > 0 then
  redis.call('HINCRBY', KEYS[1], time[1], slice + passed)
  redis.call('PEXPIRE', KEYS[1], ${(COUNTED_SECONDS + 1) * 1000})
end
return {slice, now, 1000 - millis, left - slice, (first + ${COUNTED_SECONDS} - now) * 1000 - millis}
`,
}

type Redis = Pick<InstanceRedis, 'isUsable' | 'script' | 'command'>

/** The requests of clients in the last minute on all instances. */
export class SharedWindows {
  readonly #redis: Redis
  readonly #prefix: string

  /** @param prefix `redis.key_prefix` */
  constructor(redis: Redis, prefix: string) {
    this.#redis = redis
    this.#prefix = prefix
  }

  get isUsable(): boolean {
    return this.#redis.isUsable
  }

  /** Counts, and hands out a slice. @throws RedisError */
  async take({ client, passed, waiting }: SliceOrder, budget: Budget): Promise<Slice> {
    const { limit, maxSlice, minSlice, reserve, parts } = budget
    const numbers = [limit, maxSlice, minSlice, reserve, parts, passed, waiting, 0, '']
    const reply = await this.#redis.script(COUNT, [this.#keyOf(client)], numbers.map(String))
    const [requests = 0, second = 0, validMs = 0, left = 0, retryMs = 0] = Array.isArray(reply) ? reply.map(Number) : []
    return { requests, second, isShared: true, validMs, left, retryMs }
  }

  /** @throws RedisError */
  async giveBack({ client, requests, second }: UnusedSlice): Promise<void> {
    const numbers = [0, 0, 0, 0, 1, 0, 0, requests, second]
    await this.#redis.script(COUNT, [this.#keyOf(client)], numbers.map(String))
  }

  /** Resolves with true if there were requests of the client. @throws RedisError */
  async forget(client: string): Promise<boolean> {
    return Number(await this.#redis.command('DEL', [this.#keyOf(client)])) > 0
  }

  #keyOf(client: string): string {
    return `${this.#prefix}rate:{${client}}`
  }
}
