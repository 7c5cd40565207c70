import { performance } from 'node:perf_hooks'
import { codeOf, messageOf } from '@svc/core'
import type { Check, Verdict } from '../model/subject.ts'
import { type RedisSession, withRedis } from './redis-session.ts'

const MIN_MAJOR = 7
/** A command of the server has 100 ms. */
const SLOW_MS = 20
const PINGS = 5
const POLICIES = new Set(['volatile-lru', 'volatile-lfu', 'volatile-ttl', 'volatile-random'])
const RIGHTS = '+@read +@write +@scripting +@pubsub +@connection +@stream +info'

/** One command of each kind that the server uses, on keys that do not exist: nothing is written. */
function harmless(prefix: string): readonly (readonly [command: string, args: readonly string[]])[] {
  const key = `${prefix}doctor:none`
  return [
    ['HGETALL', [key]],
    ['UNLINK', [key]],
    ['EVAL', ["return redis.call('TIME')", '1', key]],
    ['XADD', [key, 'NOMKSTREAM', '*', 'a', 'b']],
    ['PUBLISH', [`${prefix}doctor:none`, '']],
  ]
}

async function info(session: RedisSession): Promise<ReadonlyMap<string, string> | undefined> {
  try {
    const text = String(await session.command('INFO', []))
    return new Map(text.split('\r\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1)]))
  } catch (error) {
    if (codeOf(error) === 'REDIS_REFUSED') return undefined
    throw error
  }
}

function versionVerdict(facts: ReadonlyMap<string, string>): Verdict {
  const isValkey = facts.get('server_name') === 'valkey'
  const version = (isValkey ? facts.get('valkey_version') : facts.get('redis_version')) ?? ''
  const name = `${isValkey ? 'Valkey' : 'Redis'} ${version}`
  if (Number.parseInt(version, 10) >= MIN_MAJOR) return { status: 'ok', message: name }
  return { status: 'problem', message: `${name} is too old`, remedy: `install Redis ${MIN_MAJOR} or later, or Valkey` }
}

function memoryVerdict(facts: ReadonlyMap<string, string>, usesPages: boolean): Verdict {
  const policy = facts.get('maxmemory_policy') ?? ''
  const limit = Number(facts.get('maxmemory'))
  const bound = 'redis-cli CONFIG SET maxmemory <bytes> && redis-cli CONFIG REWRITE'
  const change = 'redis-cli CONFIG SET maxmemory-policy volatile-lru && redis-cli CONFIG REWRITE'
  if (policy.startsWith('allkeys-')) {
    const message = `maxmemory-policy is ${policy}: Redis may evict versions of purges, after which instances serve purged pages`
    return { status: 'problem', message, remedy: change }
  }
  if (limit === 0 && usesPages)
    return { status: 'warning', message: 'maxmemory is not set: pages can fill the memory of the machine', remedy: bound }
  if (limit > 0 && !POLICIES.has(policy)) {
    return { status: 'warning', message: `maxmemory-policy is ${policy}: a full Redis shares no new pages`, remedy: change }
  }
  return {
    status: 'ok',
    message: limit === 0 ? 'maxmemory is not set, and no pages are stored' : `maxmemory ${limit}, ${policy}`,
  }
}

async function rightsVerdict(session: RedisSession, prefix: string): Promise<Verdict> {
  const refused: string[] = []
  for (const [command, args] of harmless(prefix)) {
    try {
      await session.command(command, args)
    } catch (error) {
      if (codeOf(error) !== 'REDIS_REFUSED') throw error
      refused.push(`${command} (${messageOf(error).replace(/^.*?: /, '')})`)
    }
  }
  if (refused.length === 0) return { status: 'ok', message: `may read, write, run scripts and publish below ${prefix}` }
  const remedy = `redis-cli ACL SETUSER <user> '~${prefix}*' '&${prefix}*' ${RIGHTS}`
  return { status: 'problem', message: `Redis refuses ${refused.join(', ')}`, remedy }
}

async function latencyVerdict(session: RedisSession): Promise<Verdict> {
  const times: number[] = []
  for (let at = 0; at < PINGS; at++) {
    const startedAt = performance.now()
    await session.command('PING', [])
    times.push(performance.now() - startedAt)
  }
  const median = times.sort((one, other) => one - other)[Math.floor(PINGS / 2)] ?? 0
  const message = `answers in ${median.toFixed(1)} ms`
  if (median < SLOW_MS) return { status: 'ok', message }
  return {
    status: 'warning',
    message: `${message}, and a command has 100 ms`,
    remedy: 'redis-cli --latency; redis-cli SLOWLOG GET 10',
  }
}

/** Redis can be reached, is new enough, evicts the right keys, and allows what the server does. */
export const redisCheck: Check = {
  name: 'redis',
  run: async ({ loaded }) => {
    if (loaded === undefined) return [{ status: 'unknown', message: 'the configuration, which names it, is not valid' }]
    const { redis, cache, rate_limit } = loaded.config
    if (redis.url === undefined) return [{ status: 'ok', message: 'none is configured' }]
    return await withRedis<readonly Verdict[]>(
      loaded,
      async (session) => {
        const facts = await info(session)
        const judged: Verdict[] =
          facts === undefined
            ? [
                {
                  status: 'unknown',
                  message: 'version and eviction policy: the user may not run INFO',
                  remedy: 'redis-cli ACL SETUSER <user> +info',
                },
              ]
            : [versionVerdict(facts), memoryVerdict(facts, cache.isr.l2_enabled || rate_limit.distributed)]
        return [...judged, await rightsVerdict(session, redis.key_prefix), await latencyVerdict(session)]
      },
      (problem, address) => {
        const remedy = `start it, or correct redis.url; "redis-cli -u <redis.url> PING" must answer PONG`
        return [{ status: 'problem', message: `cannot use ${address}: ${problem}`, remedy }]
      },
    )
  },
}
