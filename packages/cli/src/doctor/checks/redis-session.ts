import type { LoadedConfig } from '@svc/config'
import { systemClock } from '@svc/core'

const CONNECT_MS = 1_500
const COMMAND_MS = 1_000

/** A connection to Redis for the time of a check. */
export interface RedisSession {
  /** @throws RedisError: `code` is REDIS_REFUSED where Redis answered with an error */
  readonly command: (name: string, args: readonly string[]) => Promise<unknown>
}

/** The address without user and password. */
function shownAddress(url: string): string {
  return url.replaceAll(/(^|,|\/\/)[^@/,]*@/g, '$1')
}

/** Connects to the Redis of a configuration, and passes the connection on; or the reason why there is none. */
export async function withRedis<T>(
  { config: { redis } }: Pick<LoadedConfig, 'config'>,
  use: (session: RedisSession, address: string) => Promise<T>,
  away: (problem: string, address: string) => T,
): Promise<T> {
  const url = redis.url ?? ''
  const { RedisClient } = await import('@svc/redis')
  const client = new RedisClient({ url, connections: 1, name: 'svc-doctor', clock: systemClock, deadlineMs: COMMAND_MS })
  try {
    await client.ready(CONNECT_MS)
    const { problem } = client
    if (problem !== undefined) return away(problem, shownAddress(url))
    return await use({ command: (name, args) => client.command(name, args) }, shownAddress(url))
  } finally {
    client.close()
  }
}
