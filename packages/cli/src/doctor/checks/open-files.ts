import type { LoadedConfig } from '@svc/config'
import type { Check, Subject } from '../model/subject.ts'

/** Files that a worker has open besides those counted below: stores, logs, channels, watchers, timers. */
const OWN_FILES = 120
/** Below this many connections of a worker the server refuses clients under ordinary load. */
const MIN_CONNECTIONS = 512
/** Below this many it does so under a high one. */
const COMFORTABLE_CONNECTIONS = 8_192
const RECOMMENDED = 524_288

/** True if requests go to other servers: each then has a second connection. */
export function isProxying({ web }: LoadedConfig): boolean {
  return web.upstreams.length > 0
}

/** Files that a worker needs for itself. */
function ownFiles({ config, listen, sites }: LoadedConfig): number {
  const redis = config.redis.url === undefined ? 0 : config.redis.pool_size
  const owned = sites.filter((site) => site.process === 'own').length
  return OWN_FILES + listen.length + redis + owned
}

/** The hard limit: Node.js raises the soft one to it. Null: there is none. */
function hardLimit(text: string): number | null | undefined {
  const value = /^Max open files\s+\S+\s+(\S+)/m.exec(text)?.[1]
  if (value === undefined) return undefined
  return value === 'unlimited' ? null : Number(value)
}

function pidOf({ server }: Subject): string {
  return server.kind === 'running' ? String(server.status.pid) : 'self'
}

function remedyFor({ server, command, options }: Subject): string {
  if (server.kind === 'running')
    return `prlimit --pid ${server.status.pid} --nofile=${RECOMMENDED}:${RECOMMENDED}, and LimitNOFILE=${RECOMMENDED} in its unit`
  return `ulimit -n ${RECOMMENDED} before "${command} serve${options}", or LimitNOFILE=${RECOMMENDED} in the unit`
}

/** The limit of open files leaves room for connections. */
export const openFilesCheck: Check = {
  name: 'open files',
  run: async (subject) => {
    const { machine, loaded } = subject
    const text = await machine.read(`/proc/${pidOf(subject)}/limits`)
    const limit = text === undefined ? undefined : hardLimit(text)
    if (limit === undefined) {
      return [
        { status: 'unknown', message: `cannot read /proc/${pidOf(subject)}/limits (run this as root or as the server's user)` },
      ]
    }
    if (limit === null) return [{ status: 'ok', message: 'not limited' }]
    if (loaded === undefined) {
      return [
        { status: 'unknown', message: `${limit} per process; the configuration says how many are needed, and it is not valid` },
      ]
    }
    const own = ownFiles(loaded)
    const each = isProxying(loaded) ? 2 : 1
    const connections = Math.max(0, Math.floor((limit - own) / each))
    const why = each === 2 ? ', two files each because requests are proxied' : ''
    const message = `${limit} per process: ${own} for the server itself leave ${connections} connections per worker${why}`
    if (connections >= COMFORTABLE_CONNECTIONS) return [{ status: 'ok', message }]
    return [{ status: connections < MIN_CONNECTIONS ? 'problem' : 'warning', message, remedy: remedyFor(subject) }]
  },
}
