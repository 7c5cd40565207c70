import { NGINX_DIRECTIVES } from '../variables/nginx-names.ts'
import { type Context, EVERYWHERE, MANY } from './rule.ts'

/** A directive that is accepted and has no effect. */
interface Ignored {
  /** The reason that its notice gives. */
  readonly reason: string
  /** Contexts in which nginx accepts it. */
  readonly in: readonly Context[]
  readonly args: number | readonly [min: number, max: number]
  readonly isMany?: boolean
  readonly form?: 'block'
}

const WITH_TLS: readonly Context[] = ['main', 'server']
const CACHE = {
  reason: 'the cache is configured by [cache.proxy] in the config file',
  in: ['main'],
  args: [2, MANY],
  isMany: true,
} as const
const SESSIONS = { reason: 'the TLS library manages session resumption', in: WITH_TLS, args: 1 } as const
const CONNECTIONS = { reason: 'the server sets socket options itself', in: EVERYWHERE, args: 1 } as const

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
  sendfile: { reason: 'the server decides how to send files', in: EVERYWHERE, args: 1 },
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

/** Directives whose absence changes no answer here, by the reason. */
const WITHOUT_EFFECT = byName({
  'the server decides how to send files': `aio aio_write directio directio_alignment output_buffers postpone_output
    read_ahead send_lowat sendfile_max_chunk`,
  'responses are streamed': `fastcgi_buffer_size fastcgi_buffers fastcgi_busy_buffers_size fastcgi_max_temp_file_size
    fastcgi_temp_file_write_size fastcgi_temp_path gzip_buffers proxy_buffer_size proxy_buffers proxy_busy_buffers_size
    proxy_max_temp_file_size proxy_temp_file_write_size proxy_temp_path`,
  'the server decides how to buffer request bodies': `client_body_buffer_size client_body_in_single_buffer
    client_body_temp_path fastcgi_request_buffering proxy_request_buffering`,
  'hash tables grow as needed': `map_hash_bucket_size map_hash_max_size proxy_headers_hash_bucket_size
    proxy_headers_hash_max_size server_names_hash_bucket_size server_names_hash_max_size types_hash_bucket_size
    types_hash_max_size variables_hash_bucket_size variables_hash_max_size`,
  'the server checks files for changes itself': `open_file_cache open_file_cache_errors open_file_cache_min_uses
    open_file_cache_valid`,
  'the TLS library chooses its parameters': 'ssl_buffer_size ssl_dhparam ssl_ecdh_curve ssl_prefer_server_ciphers',
  'OCSP responses are not stapled': 'ssl_stapling ssl_stapling_file ssl_stapling_responder ssl_stapling_verify',
  'the server manages connections itself': `fastcgi_keep_conn keepalive_requests lingering_close lingering_time
    lingering_timeout reset_timedout_connection`,
  'HTTP/3 is not supported': 'http3 quic_gso quic_retry',
  'the log is configured by [logging] in the config file': 'error_log',
  'the server chooses the compression level': 'gzip_comp_level',
  'Vary is always sent where it is needed': 'gzip_vary',
  'a missing file appears in the access log only': 'log_not_found',
  'the host name of the upstream is always sent (SNI)': 'proxy_ssl_server_name',
  'the operating system resolves host names': 'resolver_timeout',
  'upstream groups need no shared memory': 'zone',
})

const WHOLE_FILE = 'server.vhosts takes the files that nginx includes inside http {}, such as sites-enabled/*'

/** Directives whose absence would change answers or protection, by what to write instead. */
const REFUSED = byName({
  'redirects are always absolute; to redirect elsewhere, write the full URL': 'absolute_redirect',
  'without it, anyone has access; authorize requests in the upstream, or in middleware.ts of an application': 'auth_request',
  'directory listings are not available; add an index file': 'autoindex',
  'use the "break" flag of rewrite': 'break',
  'compression is negotiated with each client; "gzip off" disables it': 'brotli',
  'text is sent as UTF-8; convert files in other encodings, or set their Content-Type with add_header': 'charset',
  'set server.request_timeout_secs in the config file': 'client_body_timeout client_header_timeout',
  'files always have an ETag; it cannot be turned off': 'etag',
  'the cache key is fixed: scheme, host, URI, upstream and target': 'fastcgi_cache_key proxy_cache_key',
  'upstream error pages are always passed on unchanged': 'fastcgi_intercept_errors proxy_intercept_errors',
  'use allow and deny, or map $remote_addr with patterns': 'geo',
  'compression is negotiated with each client': 'gunzip',
  'all compressible types are compressed, at any length; "gzip off" disables compression for a location':
    'gzip_disable gzip_http_version gzip_min_length gzip_proxied gzip_types',
  'files are compressed on demand; .gz files next to them are ordinary files': 'gzip_static',
  'set server.engine = "node", which supports HTTP/2 over TLS': 'http2',
  'use map, location, try_files or a route rule instead': 'if',
  'the server runs no embedded scripts; use an application (svc_app) or an upstream': 'js_content lua_package_path perl',
  'set server.max_header_bytes in the config file': 'large_client_header_buffers',
  'set [rate_limit] in the config file: one budget for each client address over all sites':
    'limit_conn limit_conn_zone limit_req limit_req_zone',
  'the rate of responses cannot be limited': 'limit_rate',
  'use proxy_pass or fastcgi_pass': 'grpc_pass memcached_pass scgi_pass uwsgi_param uwsgi_pass',
  'slashes are always merged': 'merge_slashes',
  'use proxy_hide_header': 'more_clear_headers',
  'use add_header with "always"': 'more_set_headers',
  'redirects always include the port; to leave it out, write the full URL': 'port_in_redirect',
  'upstream response fields cannot be ignored; remove them in the upstream, or set proxy_cache_valid': 'proxy_ignore_headers',
  'upstream response fields cannot be ignored; remove them in the upstream, or set fastcgi_cache_valid': 'fastcgi_ignore_headers',
  'Server, Date and X-Accel-... of upstreams are never passed on': 'proxy_pass_header',
  'request bodies are always forwarded': 'proxy_pass_request_body',
  'request fields are always forwarded; proxy_set_header with "" removes one': 'proxy_pass_request_headers',
  'proxy_pass does not verify upstream certificates; a route rule with an https URL does':
    'proxy_ssl_trusted_certificate proxy_ssl_verify',
  'set server.trusted_proxies in the config file': 'real_ip_header real_ip_recursive set_real_ip_from',
  'the operating system resolves host names; set DNS servers in /etc/resolv.conf': 'resolver',
  'a request must pass allow, deny and auth_basic; "satisfy any" is not available': 'satisfy',
  'the server drops slow clients by its own limits': 'send_timeout',
  'use map, or write the value where the variable is used': 'set',
  'use map with patterns': 'split_clients',
  'use the "ssl" parameter of listen': 'ssl',
  'client certificates are not supported; without them, anyone has access': 'ssl_client_certificate ssl_verify_client',
  'client certificates and OCSP responses are not verified': 'ssl_trusted_certificate',
  'use GET /metrics': 'stub_status',
  'response bodies are not rewritten; change them at their source': 'sub_filter',
  'variables cannot read fields with an underscore in their name': 'underscores_in_headers',
  'use map $http_referer with patterns': 'valid_referers',
})

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

/** Turns a table of texts with the names that each is for into texts by name. */
function byName(texts: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(texts).flatMap(([text, names]) => names.split(/\s+/).map((name) => [name, text])))
}
