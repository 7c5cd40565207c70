import { nearestName } from '@svc/core'
import type { TranslatedPattern } from '@svc/http'
import { formatPlace, type Place } from '../syntax/config-problem.ts'
import type { VhostProblems } from '../syntax/vhost-problems.ts'
import { isNginxVariable, words } from './nginx-names.ts'

/** Variables that every request has. */
export const WEB_VARIABLES: ReadonlySet<string> = words(`
args content_length content_type document_root document_uri fastcgi_path_info fastcgi_script_name host hostname https is_args
nginx_version proxy_add_x_forwarded_for proxy_host proxy_port query_string realip_remote_addr realip_remote_port realpath_root remote_addr remote_port remote_user
request_filename request_id request_method request_uri scheme server_addr server_name server_port server_protocol
upstream_cache_status uri
`)

/** Variables whose name ends with that of a field, argument or cookie; the last of them is of the response. */
export const WEB_VARIABLE_PREFIXES: readonly string[] = ['arg_', 'cookie_', 'http_', 'sent_http_']

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

/** Knows which variables there are and which are read: a map may be written after what reads it. */
export class VariableTable {
  /** Regular expressions by how they are written: a thousand servers often share one. */
  readonly patterns = new Map<string, TranslatedPattern>()
  readonly #defined = new Set<string>(WEB_VARIABLES)
  readonly #used = new Map<string, Place[]>()

  define(name: string): void {
    this.#defined.add(name)
  }

  /** Returns true if every request has it. */
  isBuiltIn(name: string): boolean {
    return WEB_VARIABLES.has(name) || WEB_VARIABLE_PREFIXES.some((prefix) => name.startsWith(prefix))
  }

  use(name: string, place: Place): void {
    const places = this.#used.get(name)
    if (places === undefined) this.#used.set(name, [place])
    else places.push(place)
  }

  /** Reports variables that are read and do not exist, each where it is read first. */
  check(problems: VhostProblems): void {
    for (const [name, places] of this.#used) {
      if (this.#defined.has(name)) continue
      if (!WRITTEN_LAST.has(name) && WEB_VARIABLE_PREFIXES.some((prefix) => name.startsWith(prefix))) continue
      const [first] = places
      if (first === undefined) continue
      const others = new Set(places.map(formatPlace)).size - 1
      const more = others === 0 ? [] : [`read at ${others} more ${others === 1 ? 'place' : 'places'}`]
      const hints = [...this.#guess(name), ...more]
      const message = isNginxVariable(name) ? `variable "$${name}" is not available here` : `unknown "${name}" variable`
      problems.add(first, message, hints.length === 0 ? undefined : hints.join('; '))
    }
  }

  #guess(name: string): string[] {
    const near = isNginxVariable(name) ? undefined : nearestName(name, this.#defined)
    return near === undefined ? [] : [`did you mean "$${near}"?`]
  }
}
