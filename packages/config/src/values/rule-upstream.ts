/** The upstream of a route rule: scheme, host and port or the path of a unix socket, and the path below which everything lies. */
interface RuleUpstream {
  readonly scheme: 'http' | 'https'
  /** `user:password`, by which this server makes itself known; undefined: it does not. */
  readonly user: string | undefined
  readonly host: string
  readonly path: string
  /** Name of the group of servers, or an address with its port. */
  readonly group: string
}

/** Reads the `upstream` of a valid rule. Text that is not a URL is the name of a group. */
export function readRuleUpstream(upstream: string): RuleUpstream {
  const [, unixScheme, socket, base = ''] = /^(https?):\/\/(unix:[^:]+)(?::(.*))?$/.exec(upstream) ?? []
  if (socket !== undefined) {
    const path = below(new URL(`http://socket${base}`))
    return { scheme: schemeOf(`${unixScheme}:`), user: undefined, host: socket, path, group: socket }
  }
  const url = upstream.includes('://') ? URL.parse(upstream) : null
  if (url === null) return { scheme: 'http', user: undefined, host: upstream, path: '/', group: upstream }
  const { protocol, username, password, host } = url
  const scheme = schemeOf(protocol)
  const user = username === '' && password === '' ? undefined : `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  const group = /:\d+$/.test(host) ? host : `${host}:${scheme === 'https' ? 443 : 80}`
  return { scheme, user, host, path: below(url), group }
}

function schemeOf(protocol: string): 'http' | 'https' {
  return protocol === 'https:' ? 'https' : 'http'
}

/** A path below which others lie, as it is sent. */
function below({ pathname }: URL): string {
  return pathname.endsWith('/') ? pathname : `${pathname}/`
}
