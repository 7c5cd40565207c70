import * as z from 'zod/mini'
import { type Endpoint, type EndpointGroup, endpointGroups } from '../contract/endpoint.ts'
import type { Fields } from '../contract/schemas.ts'
import { allEndpoints, listEndpoints } from './endpoints.ts'

const groupTexts: Readonly<Record<EndpointGroup, string>> = {
  health: 'Probes. Open to all clients, not logged.',
  metrics: 'Open to all clients, not logged.',
  cache: 'For the machine itself. Always enabled.',
  debug: 'For the machine itself. Always enabled.',
  api: 'Management. `endpoints.api = false` switches it off.',
  obs: 'Observability. `endpoints.obs = false` switches it off.',
  admin: 'Administration. Enabled by `admin.enabled`, or `endpoints.admin`.',
}

const INTRODUCTION = `# Endpoints

The URLs that the server itself answers, on every host. Generated from the table in \`packages/admin\`.

Paths below \`/__svc/\` take precedence over any site. Other paths, such as \`/health\`, \`/metrics\` and \`/api/status\`,
belong to the addressed site if it defines them:

- by a route rule that redirects, blocks or proxies the path, or rewrites only this path;
- by a route without dynamic segments, or a file in \`public/\`;
- in a server of a vhost file:
  - by a location that proxies or runs something (\`proxy_pass\`, \`fastcgi_pass\`, \`return\`, \`svc_app\`, a \`rewrite\` that
    redirects), if the request reaches it by its path, \`rewrite\`, \`try_files\` or \`error_page\`;
  - by a location for exactly this path;
  - by a location for less than all paths that has \`allow\`, \`deny\`, \`auth_basic\` or \`internal\`;
  - by a file or directory of this path.

A catch-all route, or \`location /\` with files, does not define them. The same path with another method is always the
site's.

## Access

- _open_: all clients.
- _loopback_: requests from the machine itself; from elsewhere users with the role super_admin, and a tenant_admin for
  what belongs to its tenant where the list says so.
- _viewer_, _tenant_admin_, _super_admin_: users of at least that role, from the machine itself too. A tenant_admin sees
  and changes only the sites of its tenant.

A request comes from the machine itself if all of these hold: its peer is a loopback address that is no trusted proxy;
its Host is a loopback name, an address or a site of the configuration; it has no field that proxies add, and its
connection no header of the PROXY protocol; and no page in a browser sent it, unless it is one of the panel (\`Origin\`,
\`Sec-Fetch-Site\`; on the host of a site \`Accept-Language\` too). \`server.loopback_trust = false\` disables that access.
Set it if a proxy on this machine adds none of these fields. The command line (\`svc purge\`) always works for the user
of the instance.

## Users and tokens

\`svc config credentials create --username alice >> svc.config.toml\` adds a user to the configuration. It asks for the
password at the terminal; without a terminal it reads the first line of standard input. \`admin.enabled = true\` and
\`admin.jwt_secret\` must be set too.

\`svc config credentials token --username alice --ttl 600\` prints a token for \`authorization: Bearer TOKEN\`, here for
ten minutes. \`svc config endpoints list\` shows which endpoints the configuration enables.

## Requests and responses

A body is JSON of at most 1 MiB with \`content-type: application/json\`; no body means \`{}\`. The body of an upload is a
.tar.gz of at most \`deploy.max_bytes\`, with \`content-type: application/gzip\`. Invalid input gets 400 and
\`errors\`; [errors.md](errors.md) lists the other codes. Success is JSON with \`"ok": true\`. Purges and flushes answer
once no process serves anything that was purged:

\`\`\`json
{ "ok": true, "layer": "isr", "purged": 1, "also": { "l0": 2, "isr": 0, "l2": 0, "proxy": 0 },
  "scope": { "tag": "posts" }, "workers": { "acked": 2, "total": 2 }, "instances": { "acked": 1, "known": 1 },
  "took_ms": 3.1 }
\`\`\`

\`purged\` counts the dropped entries of the named layer, \`also\` those of the others.
`

/** The parts of a JSON schema that the page shows. */
interface Shown {
  readonly type?: string
  readonly description?: string
  readonly enum?: readonly unknown[]
  readonly items?: Shown
}

function typeText({ type, enum: words, items }: Shown): string {
  if (words !== undefined) return words.map((word) => `\`${word}\``).join(' or ')
  return type === 'array' ? `list of ${items?.type ?? 'value'}s` : (type ?? 'any')
}

function fieldLines(schema: Fields): string[] {
  const { properties = {}, required = [] } = z.toJSONSchema(schema, { io: 'input' }) as {
    readonly properties?: Readonly<Record<string, Shown>>
    readonly required?: readonly string[]
  }
  return Object.entries(properties).map(([name, field]) => {
    const need = required.includes(name) ? ', required' : ''
    return `  - \`${name}\` (${typeText(field)}${need}): ${field.description}`
  })
}

/** One endpoint as an item of a list, its fields below it: a table of these would be wider than a page. */
function item({ method, path, access, isForTenants, summary, query, body }: Endpoint): string[] {
  const who = access === 'loopback' && isForTenants ? 'loopback, tenant_admin' : access
  return [`- \`${method} ${path}\` (${who}): ${summary}`, ...fieldLines(query()), ...fieldLines(body())]
}

/** The reference page of all endpoints, in Markdown. */
export function endpointReference(): string {
  const all = listEndpoints(allEndpoints)
  const groups = endpointGroups.filter((group) => all.some((endpoint) => endpoint.group === group))
  const sections = groups.map((group) => {
    const items = all.filter((endpoint) => endpoint.group === group).flatMap(item)
    return [`## Group \`${group}\``, '', groupTexts[group], '', ...items, ''].join('\n')
  })
  return [INTRODUCTION, ...sections].join('\n').trimEnd().concat('\n')
}
