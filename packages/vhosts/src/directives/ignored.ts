import { type Context, EVERYWHERE, MANY } from './rule.ts'

/** A directive that is accepted and has no effect. */
interface Ignored {
  /** The reason that its notice gives. */
  readonly reason: string
  /** Where nginx takes it. */
  readonly in: readonly Context[]
  readonly args: number | readonly [min: number, max: number]
  readonly isMany?: boolean
  readonly form?: 'block'
}

const WITH_TLS: readonly Context[] = ['main', 'server']
const CACHE = { reason: 'the cache of this server is set by [cache.proxy]', in: ['main'], args: [2, MANY], isMany: true } as const
const SESSIONS = { reason: 'sessions are resumed as the TLS library does', in: WITH_TLS, args: 1 } as const
const CONNECTIONS = { reason: 'connections are set up as this server does', in: EVERYWHERE, args: 1 } as const

/** Directives that are accepted and have no effect. */
export const IGNORED_DIRECTIVES: Readonly<Record<string, Ignored>> = {
  default_type: { reason: 'types follow the names of files', in: EVERYWHERE, args: 1 },
  fastcgi_cache_path: CACHE,
  keepalive_timeout: {
    reason: 'idle connections are closed after server.idle_timeout_secs',
    in: [...EVERYWHERE, 'upstream'],
    args: [1, 2],
  },
  log_format: { reason: 'the form of the log is set by logging.format', in: ['main'], args: [2, MANY], isMany: true },
  proxy_cache_path: CACHE,
  sendfile: { reason: 'files are sent as this server does', in: EVERYWHERE, args: 1 },
  server_tokens: { reason: 'answers name no server', in: EVERYWHERE, args: 1 },
  ssl_ciphers: { reason: 'the ciphers are those of the TLS library', in: WITH_TLS, args: 1 },
  ssl_session_cache: { ...SESSIONS, args: [1, 2] },
  ssl_session_ticket_key: { ...SESSIONS, isMany: true },
  ssl_session_tickets: SESSIONS,
  ssl_session_timeout: SESSIONS,
  tcp_nodelay: CONNECTIONS,
  tcp_nopush: CONNECTIONS,
  types: { reason: 'types follow the names of files', in: EVERYWHERE, args: 0, isMany: true, form: 'block' },
}
