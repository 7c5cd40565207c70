// The quick start of @fortedigital/nextjs-cache-handler, over a unix socket.
import { CacheHandler } from '@fortedigital/nextjs-cache-handler'
import createRedisHandler from '@fortedigital/nextjs-cache-handler/redis-strings'
import { createClient } from 'redis'

/** Undefined while `next build` runs: it needs no Redis. */
let handlers
async function connected() {
  const client = createClient({ socket: { path: process.env.REDIS_SOCKET } })
  client.on('error', (error) => console.error(error))
  await client.connect()
  return [createRedisHandler({ client, keyPrefix: 'next:' })]
}

CacheHandler.onCreation(async () => {
  handlers ??= process.env.REDIS_SOCKET === undefined ? Promise.resolve([]) : connected()
  return { handlers: await handlers }
})

export default CacheHandler
