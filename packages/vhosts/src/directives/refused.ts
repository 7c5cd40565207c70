import { NGINX_DIRECTIVES } from '../variables/nginx-names.ts'
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

/** Directives whose absence changes no answer here, with the reason. */
const WITHOUT_EFFECT: Readonly<Record<string, string>> = {
  ...reasons('files are sent as this server does', 'aio aio_write directio directio_alignment output_buffers sendfile_max_chunk'),
  ...reasons('files are sent as this server does', 'postpone_output read_ahead send_lowat'),
  ...reasons('answers are streamed', 'proxy_buffers proxy_buffer_size proxy_busy_buffers_size proxy_max_temp_file_size'),
  ...reasons('answers are streamed', 'proxy_temp_file_write_size proxy_temp_path fastcgi_buffers fastcgi_buffer_size'),
  ...reasons('answers are streamed', 'fastcgi_busy_buffers_size fastcgi_max_temp_file_size fastcgi_temp_file_write_size'),
  ...reasons('answers are streamed', 'fastcgi_temp_path'),
  ...reasons('bodies of requests are streamed', 'client_body_buffer_size client_body_temp_path proxy_request_buffering'),
  ...reasons('bodies of requests need no files', 'fastcgi_request_buffering client_body_in_single_buffer'),
  ...reasons('tables are as large as they need to be', 'server_names_hash_bucket_size server_names_hash_max_size'),
  ...reasons('tables are as large as they need to be', 'types_hash_bucket_size types_hash_max_size variables_hash_bucket_size'),
  ...reasons('tables are as large as they need to be', 'variables_hash_max_size map_hash_bucket_size map_hash_max_size'),
  ...reasons('tables are as large as they need to be', 'proxy_headers_hash_bucket_size proxy_headers_hash_max_size'),
  ...reasons('open files are checked by their state', 'open_file_cache open_file_cache_valid open_file_cache_min_uses'),
  ...reasons('open files are checked by their state', 'open_file_cache_errors'),
  ...reasons('the TLS library chooses', 'ssl_prefer_server_ciphers ssl_dhparam ssl_ecdh_curve ssl_buffer_size'),
  ...reasons('OCSP responses are not stapled', 'ssl_stapling ssl_stapling_verify ssl_stapling_file ssl_stapling_responder'),
  ...reasons('connections are handled as this server does', 'reset_timedout_connection keepalive_requests fastcgi_keep_conn'),
  ...reasons('connections are handled as this server does', 'lingering_close lingering_time lingering_timeout'),
  ...reasons('HTTP/3 is not spoken', 'http3 quic_retry quic_gso'),
  error_log: '[logging] of the config file sets the log of this server',
  gzip_buffers: 'answers are streamed',
  gzip_comp_level: 'this server chooses the level',
  gzip_vary: 'Vary is sent wherever it applies',
  log_not_found: 'a missing file is only logged as its request',
  proxy_ssl_server_name: 'the name of the upstream is always sent',
  resolver_timeout: 'the system resolves names',
  zone: 'every worker knows all upstreams',
}

const WHOLE_FILE = 'server.vhosts takes the files that nginx includes within http {}: name those, such as sites-enabled/*'
const UPSTREAM_ERRORS = 'error pages of upstreams are always sent as they come'
const CACHE_KEY = 'the key is scheme, host, URI, upstream and target: another key is not available'
const COMPRESSED = 'every type that gains by compression is compressed, at any length; "gzip off" turns it off for a location'
const CLIENT_ADDRESS = 'set server.trusted_proxies in the config file'
const LIMITS =
  'requests are not limited in this version ([rate_limit] of the config file has no effect yet): keep the limit in front'
const OTHER_UPSTREAMS = 'use proxy_pass or fastcgi_pass'
const UPSTREAM_TLS = 'proxy_pass does not check certificates of upstreams: a route rule with an https URL does'
const PER_SERVER = 'map with patterns does the same'
const SCRIPTS = 'scripts within the server are not run: use an application (svc_app) or an upstream'

/** Directives whose absence would change answers or protection, with what to write instead. */
const REFUSED: Readonly<Record<string, string>> = {
  absolute_redirect: 'redirects always name scheme and host: write the whole URL where another one is meant',
  auth_request: 'without it everyone gets in: check in the upstream, or in middleware.ts of an application',
  autoindex: 'directories are not listed: write an index file',
  break: 'use the flag "break" of rewrite',
  brotli: 'compression is negotiated with each client; "gzip off" turns it off',
  charset: 'text is sent as UTF-8: convert files in another encoding, or send their Content-Type with add_header',
  client_body_timeout: 'set server.request_timeout_secs in the config file',
  client_header_timeout: 'set server.request_timeout_secs in the config file',
  etag: 'files always have an ETag: "etag off" is not available',
  fastcgi_cache_key: CACHE_KEY,
  fastcgi_intercept_errors: UPSTREAM_ERRORS,
  geo: 'use allow and deny, or map with patterns of $remote_addr',
  gunzip: 'compression is negotiated with each client',
  gzip_disable: COMPRESSED,
  gzip_http_version: COMPRESSED,
  gzip_min_length: COMPRESSED,
  gzip_proxied: COMPRESSED,
  gzip_static: 'files are compressed when they are asked for; .gz files beside them are files of their own',
  gzip_types: COMPRESSED,
  http2: 'set server.engine = "node", which speaks HTTP/2 over TLS',
  if: 'use map, location, try_files or a route rule in its place',
  js_content: SCRIPTS,
  large_client_header_buffers: 'set server.max_header_bytes in the config file',
  limit_conn: LIMITS,
  limit_conn_zone: LIMITS,
  limit_rate: 'answers are sent as fast as clients take them: a limit is not available',
  limit_req: LIMITS,
  limit_req_zone: LIMITS,
  lua_package_path: SCRIPTS,
  memcached_pass: OTHER_UPSTREAMS,
  merge_slashes: 'slashes are always merged: "merge_slashes off" is not available',
  more_clear_headers: 'use proxy_hide_header',
  more_set_headers: 'use add_header ... always',
  perl: SCRIPTS,
  port_in_redirect: 'redirects always name the port of the address: write the whole URL where another one is meant',
  proxy_cache_key: CACHE_KEY,
  proxy_intercept_errors: UPSTREAM_ERRORS,
  proxy_ignore_headers: 'fields of upstreams always count: remove them in the upstream, or set proxy_cache_valid',
  fastcgi_ignore_headers: 'fields of upstreams always count: remove them in the upstream, or set fastcgi_cache_valid',
  proxy_pass_header: 'Server, Date and X-Accel-... of upstreams are not passed on',
  proxy_pass_request_body: 'bodies are always sent on',
  proxy_pass_request_headers: 'fields are always sent on: proxy_set_header with "" removes one',
  proxy_ssl_trusted_certificate: UPSTREAM_TLS,
  proxy_ssl_verify: UPSTREAM_TLS,
  real_ip_header: CLIENT_ADDRESS,
  real_ip_recursive: CLIENT_ADDRESS,
  resolver: 'the system resolves names: name other servers in /etc/resolv.conf',
  satisfy: 'allow, deny and auth_basic all have to agree: "satisfy any" is not available',
  scgi_pass: OTHER_UPSTREAMS,
  send_timeout: 'the server has limits of its own for slow clients',
  set: 'use map, or write the value where the variable is read',
  set_real_ip_from: CLIENT_ADDRESS,
  split_clients: PER_SERVER,
  ssl: 'write listen ... ssl',
  ssl_client_certificate: 'clients are not asked for certificates: without it everyone gets in',
  ssl_trusted_certificate: 'certificates of clients and OCSP responses are not checked',
  ssl_verify_client: 'clients are not asked for certificates: without it everyone gets in',
  stub_status: 'GET /metrics says more',
  sub_filter: 'bodies are sent as they come: change them where they are made',
  underscores_in_headers: 'a variable never reads a field with an underscore in its name',
  uwsgi_param: OTHER_UPSTREAMS,
  uwsgi_pass: OTHER_UPSTREAMS,
  grpc_pass: OTHER_UPSTREAMS,
  valid_referers: 'use map with patterns of $http_referer',
}

/** Directives that stand outside of `http {}`: of those of one file one is enough to say so. */
const OUTSIDE: ReadonlySet<string> = new Set(
  'http events stream mail user pid load_module worker_processes worker_rlimit_nofile worker_cpu_affinity daemon'.split(' '),
)

/** The directives that are errors, for the page that lists them. */
export const REJECTED_DIRECTIVES = { withoutEffect: WITHOUT_EFFECT, withReplacement: REFUSED, outsideOfHttp: OUTSIDE } as const

/** Why a directive is not read. */
interface Refusal {
  readonly message: string
  readonly hint: string | undefined
  /** Refusals of one file with the same cause are reported once. */
  readonly cause: string | undefined
}

/** Why a directive that is not read here is not. Undefined: nginx does not know it either. */
export function refusalOf(name: string): Refusal | undefined {
  if (OUTSIDE.has(name)) {
    const message = `"${name}" belongs to a whole nginx.conf, not to a file of servers`
    return { message, hint: WHOLE_FILE, cause: 'whole file' }
  }
  const reason = Object.hasOwn(WITHOUT_EFFECT, name) ? WITHOUT_EFFECT[name] : undefined
  const instead = Object.hasOwn(REFUSED, name) ? REFUSED[name] : undefined
  if (reason === undefined && instead === undefined && !NGINX_DIRECTIVES.has(name)) return undefined
  const hint = reason === undefined ? instead : `${reason}; no answer changes without it`
  return { message: `directive "${name}" is not available here`, hint, cause: undefined }
}

function reasons(reason: string, names: string): Record<string, string> {
  return Object.fromEntries(names.split(' ').map((name) => [name, reason]))
}
