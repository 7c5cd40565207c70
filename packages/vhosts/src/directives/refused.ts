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
const SESSIONS = { reason: 'the TLS library manages session resumption', in: WITH_TLS, args: 1 } as const
const CONNECTIONS = { reason: 'this server sets socket options itself', in: EVERYWHERE, args: 1 } as const

/** Directives that are accepted and have no effect. */
export const IGNORED_DIRECTIVES: Readonly<Record<string, Ignored>> = {
  default_type: { reason: 'types are derived from file names', in: EVERYWHERE, args: 1 },
  fastcgi_cache_path: CACHE,
  keepalive_timeout: {
    reason: 'idle connections are closed after server.idle_timeout_secs',
    in: [...EVERYWHERE, 'upstream'],
    args: [1, 2],
  },
  log_format: { reason: 'logging.format sets the log format', in: ['main'], args: [2, MANY], isMany: true },
  proxy_cache_path: CACHE,
  sendfile: { reason: 'this server chooses how files are sent', in: EVERYWHERE, args: 1 },
  server_tokens: { reason: 'responses do not name the server', in: EVERYWHERE, args: 1 },
  ssl_ciphers: { reason: 'the TLS library chooses the ciphers', in: WITH_TLS, args: 1 },
  ssl_session_cache: { ...SESSIONS, args: [1, 2] },
  ssl_session_ticket_key: { ...SESSIONS, isMany: true },
  ssl_session_tickets: SESSIONS,
  ssl_session_timeout: SESSIONS,
  tcp_nodelay: CONNECTIONS,
  tcp_nopush: CONNECTIONS,
  types: { reason: 'types are derived from file names', in: EVERYWHERE, args: 0, isMany: true, form: 'block' },
}

/** Directives whose absence changes no answer here, with the reason. */
const WITHOUT_EFFECT: Readonly<Record<string, string>> = {
  ...reasons(
    'this server chooses how files are sent',
    'aio aio_write directio directio_alignment output_buffers sendfile_max_chunk',
  ),
  ...reasons('this server chooses how files are sent', 'postpone_output read_ahead send_lowat'),
  ...reasons('responses are streamed', 'proxy_buffers proxy_buffer_size proxy_busy_buffers_size proxy_max_temp_file_size'),
  ...reasons('responses are streamed', 'proxy_temp_file_write_size proxy_temp_path fastcgi_buffers fastcgi_buffer_size'),
  ...reasons('responses are streamed', 'fastcgi_busy_buffers_size fastcgi_max_temp_file_size fastcgi_temp_file_write_size'),
  ...reasons('responses are streamed', 'fastcgi_temp_path'),
  ...reasons('request bodies are streamed', 'client_body_buffer_size client_body_temp_path proxy_request_buffering'),
  ...reasons('request bodies need no files', 'fastcgi_request_buffering client_body_in_single_buffer'),
  ...reasons('tables grow as needed', 'server_names_hash_bucket_size server_names_hash_max_size'),
  ...reasons('tables grow as needed', 'types_hash_bucket_size types_hash_max_size variables_hash_bucket_size'),
  ...reasons('tables grow as needed', 'variables_hash_max_size map_hash_bucket_size map_hash_max_size'),
  ...reasons('tables grow as needed', 'proxy_headers_hash_bucket_size proxy_headers_hash_max_size'),
  ...reasons('open files are checked by their state', 'open_file_cache open_file_cache_valid open_file_cache_min_uses'),
  ...reasons('open files are checked by their state', 'open_file_cache_errors'),
  ...reasons('the TLS library chooses', 'ssl_prefer_server_ciphers ssl_dhparam ssl_ecdh_curve ssl_buffer_size'),
  ...reasons('OCSP responses are not stapled', 'ssl_stapling ssl_stapling_verify ssl_stapling_file ssl_stapling_responder'),
  ...reasons('this server manages connections itself', 'reset_timedout_connection keepalive_requests fastcgi_keep_conn'),
  ...reasons('this server manages connections itself', 'lingering_close lingering_time lingering_timeout'),
  ...reasons('HTTP/3 is not supported', 'http3 quic_retry quic_gso'),
  error_log: '[logging] in the config file configures the log',
  gzip_buffers: 'responses are streamed',
  gzip_comp_level: 'this server chooses the level',
  gzip_vary: 'Vary is sent wherever it applies',
  log_not_found: 'a missing file is logged only as a request',
  proxy_ssl_server_name: 'the name of the upstream is always sent',
  resolver_timeout: 'the system resolves names',
  zone: 'every worker knows all upstreams',
}

const WHOLE_FILE = 'server.vhosts takes the files that nginx includes within http {}: name those, such as sites-enabled/*'
const UPSTREAM_ERRORS = 'error pages of upstreams are always passed on unchanged'
const CACHE_KEY = 'the cache key is fixed: scheme, host, URI, upstream and target'
const COMPRESSED = 'all compressible types are compressed, at any length; "gzip off" disables it for a location'
const CLIENT_ADDRESS = 'set server.trusted_proxies in the config file'
const LIMITS =
  'rate limits are not available yet ([rate_limit] in the config file has no effect): keep them in the proxy in front'
const OTHER_UPSTREAMS = 'use proxy_pass or fastcgi_pass'
const UPSTREAM_TLS = 'proxy_pass does not check certificates of upstreams: a route rule with an https URL does'
const PER_SERVER = 'map with patterns does the same'
const SCRIPTS = 'scripts within the server are not run: use an application (svc_app) or an upstream'

/** Directives whose absence would change answers or protection, with what to write instead. */
const REFUSED: Readonly<Record<string, string>> = {
  absolute_redirect: 'redirects are always absolute: write the whole URL for another target',
  auth_request: 'without it access is open: check it in the upstream, or in middleware.ts of an application',
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
  gzip_static: 'files are compressed on demand; .gz files beside them are ordinary files',
  gzip_types: COMPRESSED,
  http2: 'set server.engine = "node", which speaks HTTP/2 over TLS',
  if: 'use map, location, try_files or a route rule in its place',
  js_content: SCRIPTS,
  large_client_header_buffers: 'set server.max_header_bytes in the config file',
  limit_conn: LIMITS,
  limit_conn_zone: LIMITS,
  limit_rate: 'responses cannot be rate-limited',
  limit_req: LIMITS,
  limit_req_zone: LIMITS,
  lua_package_path: SCRIPTS,
  memcached_pass: OTHER_UPSTREAMS,
  merge_slashes: 'slashes are always merged: "merge_slashes off" is not available',
  more_clear_headers: 'use proxy_hide_header',
  more_set_headers: 'use add_header ... always',
  perl: SCRIPTS,
  port_in_redirect: 'redirects always include the port: write the whole URL for another target',
  proxy_cache_key: CACHE_KEY,
  proxy_intercept_errors: UPSTREAM_ERRORS,
  proxy_ignore_headers: 'header fields of upstreams cannot be ignored: remove them in the upstream, or set proxy_cache_valid',
  fastcgi_ignore_headers: 'header fields of upstreams cannot be ignored: remove them in the upstream, or set fastcgi_cache_valid',
  proxy_pass_header: 'Server, Date and X-Accel-... of upstreams are not passed on',
  proxy_pass_request_body: 'request bodies are always forwarded',
  proxy_pass_request_headers: 'header fields are always forwarded: proxy_set_header with "" removes one',
  proxy_ssl_trusted_certificate: UPSTREAM_TLS,
  proxy_ssl_verify: UPSTREAM_TLS,
  real_ip_header: CLIENT_ADDRESS,
  real_ip_recursive: CLIENT_ADDRESS,
  resolver: 'the system resolves names: name other servers in /etc/resolv.conf',
  satisfy: 'allow, deny and auth_basic all have to agree: "satisfy any" is not available',
  scgi_pass: OTHER_UPSTREAMS,
  send_timeout: 'the server limits slow clients itself',
  set: 'use map, or write the value where the variable is read',
  set_real_ip_from: CLIENT_ADDRESS,
  split_clients: PER_SERVER,
  ssl: 'write listen ... ssl',
  ssl_client_certificate: 'client certificates are not supported: without them access is open',
  ssl_trusted_certificate: 'client certificates and OCSP responses are not verified',
  ssl_verify_client: 'client certificates are not supported: without them access is open',
  stub_status: 'use GET /metrics',
  sub_filter: 'response bodies are not rewritten: change them at their source',
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
    const message = `"${name}" belongs in nginx.conf, not in a vhost file`
    return { message, hint: WHOLE_FILE, cause: 'whole file' }
  }
  const reason = Object.hasOwn(WITHOUT_EFFECT, name) ? WITHOUT_EFFECT[name] : undefined
  const instead = Object.hasOwn(REFUSED, name) ? REFUSED[name] : undefined
  if (reason === undefined && instead === undefined && !NGINX_DIRECTIVES.has(name)) return undefined
  const hint = reason === undefined ? instead : `${reason}; removing it changes no response`
  return { message: `directive "${name}" is not available here`, hint, cause: undefined }
}

function reasons(reason: string, names: string): Record<string, string> {
  return Object.fromEntries(names.split(' ').map((name) => [name, reason]))
}
