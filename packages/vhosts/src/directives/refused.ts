import { NGINX_DIRECTIVES } from '../nginx/directive-facts.ts'
import { byName } from './texts-by-name.ts'

/** Directives whose absence would change answers or protection, by what to write instead. */
const REFUSED = byName({
  'use proxy_ssl_protocols and proxy_ssl_ciphers': 'proxy_ssl_conf_command uwsgi_ssl_conf_command',
  'connections to upstreams come from any address of this machine': 'proxy_bind fastcgi_bind scgi_bind uwsgi_bind',
  'a request ends when its client disconnects': `proxy_ignore_client_abort
    fastcgi_ignore_client_abort scgi_ignore_client_abort uwsgi_ignore_client_abort`,
  'ranges are served where the response allows them': `proxy_force_ranges fastcgi_force_ranges scgi_force_ranges
    uwsgi_force_ranges`,
  'files are not written by requests': `proxy_store proxy_store_access fastcgi_store
    fastcgi_store_access scgi_store scgi_store_access uwsgi_store uwsgi_store_access`,
  'an error of an application does not make the server try another one': 'fastcgi_catch_stderr',
  'an error page that fails is sent as a plain error': 'recursive_error_pages',
  'symbolic links are followed; give the files to another user': 'disable_symlinks',
  'use error_page with a path, or an upstream': 'post_action',
  'set tls.min_version in the config file': 'ssl_conf_command',
  'use add_header': 'add_trailer early_hints',
  'compression is negotiated with each client': 'gunzip',
  'responses of upstreams are read as fast as their clients take them; use limit_rate':
    'proxy_limit_rate fastcgi_limit_rate scgi_limit_rate uwsgi_limit_rate',
  'authorities are not asked about client certificates; use ssl_crl': 'ssl_ocsp ssl_ocsp_cache ssl_ocsp_responder',
})

/** The same for the other directives of a module. */
const REFUSED_MODULES: Readonly<Record<string, string>> = {
  addition: 'texts of other locations are not added to responses; change the responses at their source',
  browser: 'use map $http_user_agent with patterns',
  charset: 'text is not converted; convert files in other encodings',
  dav: 'clients cannot write files; use an upstream that speaks WebDAV',
  flv: 'videos are not cut by the argument "start"; use an upstream',
  geoip: 'addresses have no country here; use map $remote_addr with patterns, or the upstream',
  grpc: 'gRPC is not proxied: upstreams are asked with HTTP/1; keep nginx in front of such a server',
  gunzip: 'compression is negotiated with each client',
  image_filter: 'images are sent unchanged; change them at their source',
  memcached: 'memcached is not proxied; use proxy_pass or fastcgi_pass',
  mirror: 'requests are not copied to another upstream',
  mp4: 'videos are not cut by the arguments "start" and "end"; use an upstream',
  perl: 'the server runs no embedded scripts; use an application (svc_app) or an upstream',
  slice: 'ranges are requested from the upstream as the client asks for them',
  ssi: 'pages are not assembled here; assemble them in the upstream',
  userid: 'no cookie is set for clients; set it in the upstream',
  v2: 'the server bounds HTTP/2 connections itself; set server.max_header_bytes in the config file',
  xslt: 'XML is sent unchanged; transform it in the upstream',
}

/** The advice about the rest. */
const REST = 'responses would change without it; keep nginx in front of a site that needs it'

const SCRIPTS = 'the server runs no embedded scripts; use an application (svc_app) or an upstream'

/** Blocks outside of `http {}` for other protocols. */
const OTHER_PROTOCOLS: Readonly<Record<string, string>> = {
  mail: 'mail is not proxied; keep nginx for it',
  stream: 'connections of TCP and UDP are not proxied; keep nginx for them',
}

/** Directives of modules that do not come with nginx, by the beginning of their names. */
const FOREIGN: readonly (readonly [prefix: string, hint: string])[] = [
  ['brotli', 'compression is negotiated with each client; "gzip off" disables it'],
  ['lua_', SCRIPTS],
  ['access_by_lua', SCRIPTS],
  ['content_by_lua', SCRIPTS],
  ['header_filter_by_lua', SCRIPTS],
  ['init_by_lua', SCRIPTS],
  ['log_by_lua', SCRIPTS],
  ['rewrite_by_lua', SCRIPTS],
  ['set_by_lua', SCRIPTS],
  ['js_', SCRIPTS],
  ['passenger_', 'run the application by itself and use proxy_pass'],
  ['modsecurity', 'use [waf] of the config file'],
  ['pagespeed', 'pages are sent unchanged'],
  ['more_clear_headers', 'use proxy_hide_header'],
  ['more_set_headers', 'use add_header with "always"'],
  ['rtmp', 'streams are not served'],
  ['vod_', 'videos are not packaged'],
]

/** The text about a directive that is refused; undefined: nginx does not know it either. */
export function refusedHint(name: string): string | undefined {
  const [facts] = NGINX_DIRECTIVES.get(name) ?? []
  if (Object.hasOwn(OTHER_PROTOCOLS, name)) return OTHER_PROTOCOLS[name]
  const foreign = FOREIGN.find(([prefix]) => name.startsWith(prefix))?.[1]
  const ofModule = facts === undefined ? foreign : (REFUSED_MODULES[facts.module] ?? REST)
  return REFUSED.get(name) ?? ofModule
}

/** Beginnings of names that belong to modules that do not come with nginx. */
export const foreignPrefixes: readonly string[] = FOREIGN.map(([prefix]) => prefix)
