import { nearestName } from '@svc/core'
import type { TranslatedPattern } from '@svc/http'
import { formatPlace, type Place } from '../syntax/config-problem.ts'
import type { VhostProblems } from '../syntax/vhost-problems.ts'
import { isNginxVariable, words } from './nginx-names.ts'

/** Variables that every request has. */
export const WEB_VARIABLES: ReadonlySet<string> = words(`
args binary_remote_addr body_bytes_sent bytes_sent connection connection_requests connection_time content_length content_type
date_gmt date_local document_root document_uri fastcgi_path_info fastcgi_script_name host hostname http2 http3 https invalid_referer is_args limit_conn_status limit_rate limit_req_status msec
nginx_version pid proxy_add_x_forwarded_for proxy_host proxy_port proxy_protocol_addr
proxy_protocol_port proxy_protocol_server_addr proxy_protocol_server_port query_string realip_remote_addr realip_remote_port realpath_root remote_addr remote_port remote_user
request request_completion request_filename request_id request_length request_method request_time request_uri scheme secure_link secure_link_expires server_addr
server_name server_port server_protocol ssl_alpn_protocol ssl_cipher ssl_client_cert ssl_client_escaped_cert
ssl_client_fingerprint ssl_client_i_dn ssl_client_i_dn_legacy ssl_client_raw_cert ssl_client_s_dn ssl_client_s_dn_legacy
ssl_client_serial ssl_client_v_end ssl_client_v_remain ssl_client_v_start ssl_client_verify ssl_early_data ssl_protocol
ssl_server_name ssl_session_reused status time_iso8601 time_local upstream_addr
upstream_cache_status upstream_connect_time upstream_header_time upstream_response_length upstream_response_time upstream_status
uri
`)

/** Those for which notes of upstreams are taken. */
const OF_UPSTREAMS = words(`
upstream_addr upstream_connect_time upstream_header_time upstream_response_length upstream_response_time upstream_status
`)

/** Those that only one engine knows, without a connection that is encrypted and with one. */
const OF_ENGINE_NODE = words('connection connection_requests connection_time')
const OF_ENGINE_NODE_TLS = words('ssl_alpn_protocol ssl_cipher ssl_protocol ssl_server_name ssl_session_reused')

/** Variables whose name ends with that of a field, argument or cookie; the last three are of the response. */
export const WEB_VARIABLE_PREFIXES: readonly string[] = [
  'arg_',
  'cookie_',
  'http_',
  'sent_http_',
  'upstream_cookie_',
  'upstream_http_',
]

/** Fields that nginx has variables of their own for. */
const FIXED_FIELDS = words(`
http_host http_user_agent http_referer http_via http_x_forwarded_for http_cookie sent_http_content_type
sent_http_content_length sent_http_location sent_http_last_modified sent_http_connection sent_http_keep_alive
sent_http_transfer_encoding sent_http_cache_control sent_http_link
`)

/** Fields of responses that the engine writes, when all else is done. */
const WRITTEN_LAST = words(
  'sent_http_connection sent_http_content_length sent_http_date sent_http_keep_alive sent_http_server sent_http_transfer_encoding',
)

/** Variables whose value the client chooses, beside those with the prefixes above. */
const SAID_BY_CLIENT = words(
  'args content_type document_uri host query_string remote_user request_filename request_method request_uri uri',
)

/** Returns true if the client chooses the value of a variable. Unknown for maps and named captures. */
export function isSaidByClient(name: string): boolean {
  return SAID_BY_CLIENT.has(name) || /^[1-9]$/.test(name) || /^(?:arg|cookie|http)_/.test(name)
}

/** Reader of a variable: a log, or something that an answer may depend on. */
type VariableReading = 'answer' | 'log'

/** The addresses that engine uws serves: it does not know all variables. */
export interface UwsAddresses {
  readonly hasUws: boolean
  /** True if one of them speaks TLS. */
  readonly hasUwsTls: boolean
}

/** Knows which variables there are and which are read: a map may be written after what reads it. */
export class VariableTable {
  /** Regular expressions by how they are written: a thousand servers often share one. */
  readonly patterns = new Map<string, TranslatedPattern>()
  readonly #defined = new Set<string>(WEB_VARIABLES)
  readonly #used = { answer: new Map<string, Place[]>(), log: new Map<string, Place[]>() }

  define(name: string): void {
    this.#defined.add(name)
  }

  /** Returns true if nothing else may define it. Names with the prefix of a field, argument or cookie may be those of a map. */
  isFixed(name: string): boolean {
    return FIXED_FIELDS.has(name) || (isNginxVariable(name) && !WEB_VARIABLE_PREFIXES.some((prefix) => name.startsWith(prefix)))
  }

  /** Returns true if every request has it. */
  isBuiltIn(name: string): boolean {
    return isNginxVariable(name) || WEB_VARIABLE_PREFIXES.some((prefix) => name.startsWith(prefix))
  }

  use(name: string, place: Place, reading: VariableReading = 'answer'): void {
    const places = this.#used[reading].get(name)
    if (places === undefined) this.#used[reading].set(name, [place])
    else places.push(place)
  }

  /** True if a variable that was used needs notes of upstreams. */
  get recordsUpstreams(): boolean {
    const { answer, log } = this.#used
    return [...OF_UPSTREAMS].some((name) => answer.has(name) || log.has(name))
  }

  /** True if a log has bodies of requests. */
  get recordsBodies(): boolean {
    return this.#used.log.has('request_body')
  }

  /** Reports variables that are read and do not exist, each where it is read first. Logs have "-" for those of nginx. */
  check(problems: VhostProblems, surroundings: UwsAddresses): void {
    for (const [name, places] of this.#used.answer) {
      const wish = this.#wishFor(name, surroundings)
      if (wish !== undefined) this.#report(problems, name, places, wish)
    }
    for (const [name, places] of this.#used.log) {
      if (name === 'request_body') continue
      const wish = this.#wishFor(name, surroundings)
      if (wish === undefined || this.#used.answer.has(name)) continue
      const [first] = places
      if (!isNginxVariable(name)) this.#report(problems, name, places, wish)
      else if (first !== undefined)
        problems.notice(`log variable ${name}`, first, `variable "$${name}" is not available here: logs have "-" for it`)
    }
  }

  /** Undefined: it is there. Else the advice about it; "": none. */
  #wishFor(name: string, { hasUws, hasUwsTls }: UwsAddresses): string | undefined {
    const isMissing = (hasUws && OF_ENGINE_NODE.has(name)) || (hasUwsTls && OF_ENGINE_NODE_TLS.has(name))
    if (isMissing) return 'engine "uws" does not know it; set svc_engine node'
    if (this.#defined.has(name)) return undefined
    if (!WRITTEN_LAST.has(name) && WEB_VARIABLE_PREFIXES.some((prefix) => name.startsWith(prefix))) return undefined
    const near = isNginxVariable(name) ? undefined : nearestName(name, this.#defined)
    return near === undefined ? '' : `did you mean "$${near}"?`
  }

  #report(problems: VhostProblems, name: string, places: readonly Place[], wish: string): void {
    const [first] = places
    if (first === undefined) return
    const others = new Set(places.map(formatPlace)).size - 1
    const more = others === 0 ? [] : [`read at ${others} more ${others === 1 ? 'place' : 'places'}`]
    const hints = [...(wish === '' ? [] : [wish]), ...more]
    const message = isNginxVariable(name) ? `variable "$${name}" is not available here` : `unknown "${name}" variable`
    problems.add(first, message, hints.length === 0 ? undefined : hints.join('; '))
  }
}
