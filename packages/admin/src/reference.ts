import type { Endpoint, EndpointGroup } from './contract/endpoint.ts'
import type { Field, FieldSchema } from './contract/fields.ts'
import { listEndpoints } from './endpoint-table.ts'

/** Every endpoint there is, at its usual path. */
function allEndpoints(): Endpoint[] {
  return listEndpoints({
    healthGroup: true,
    metricsGroup: true,
    apiGroup: true,
    adminGroup: true,
    hasHealthDetails: true,
    healthPaths: ['/__svc/health'],
    metricsPaths: ['/metrics', '/__svc/metrics'],
  })
}

const groupTexts: Readonly<Record<EndpointGroup, string>> = {
  health: 'Probes. Open to all clients, not logged.',
  metrics: 'Open to all clients, not logged.',
  maintenance: 'For the machine itself. Always enabled.',
  api: 'Management.',
  admin: 'Enabled unless `endpoints.admin` is false.',
}

const INTRODUCTION = `# Endpoints

The URLs that the server itself answers, on every host. Generated from the table in \`packages/admin\`.

Paths below \`/__svc/\` take precedence over any site. Other paths, such as \`/health\` and \`/metrics\`, belong to the
addressed site if it defines them:

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
- _loopback_: only requests from the machine itself.
- _role_: for now the same as loopback, because there are no users yet.

A request comes from the machine itself if all of these hold: its peer is a loopback address that is no trusted proxy;
its Host is a loopback name, an address or a site of the configuration; it has no field that proxies add; and no page
of another site sent it. \`server.loopback_trust = false\` disables that access. Set it if a proxy on this machine adds
none of these fields. The command line (\`svc purge\`) always works for the user of the instance.

## Requests and responses

A body is JSON of at most 1 MiB with \`content-type: application/json\`; no body means \`{}\`. Invalid input gets 400 and
\`errors\`; [errors.md](errors.md) lists the other codes. Success is JSON with \`"ok": true\`. Purges and flushes answer
once no process serves anything that was purged:

\`\`\`json
{ "ok": true, "layer": "isr", "purged": 1, "also": { "l0": 2, "isr": 0, "l2": 0, "proxy": 0 },
  "scope": { "tag": "posts" }, "workers": { "acked": 2, "total": 2 }, "instances": { "acked": 1, "known": 1 },
  "took_ms": 3.1 }
\`\`\`

\`purged\` counts the dropped entries of the named layer, \`also\` those of the others.
`

const formatTexts: Readonly<Record<NonNullable<Field['format']>, string>> = {
  path: 'URL path',
  file: 'absolute file',
  directory: 'absolute directory',
  flag: '0 or 1',
}

function fieldText(name: string, { type, format, isRequired, description }: Field): string {
  const one = format === undefined ? 'string' : formatTexts[format]
  const kind = type === 'string[]' ? `list of ${one}s` : one
  return `\`${name}\` (${kind}${isRequired === true ? ', required' : ''}): ${description}`
}

function fieldLines(schema: FieldSchema | undefined): string[] {
  return Object.entries(schema ?? {}).map(([name, field]) => `  - ${fieldText(name, field)}`)
}

/** One endpoint as an item of a list, its fields below it: a table of these would be wider than a page. */
function item({ method, path, access, summary, query, body }: Endpoint): string[] {
  return [`- \`${method} ${path}\` (${access}): ${summary}`, ...fieldLines(query), ...fieldLines(body)]
}

/** The reference page of all endpoints, in Markdown. */
export function endpointReference(): string {
  const all = allEndpoints()
  const groups = [...new Set(all.map(({ group }) => group))]
  const sections = groups.map((group) => {
    const items = all.filter((endpoint) => endpoint.group === group).flatMap(item)
    return [`## Group \`${group}\``, '', groupTexts[group], '', ...items, ''].join('\n')
  })
  return [INTRODUCTION, ...sections].join('\n').trimEnd().concat('\n')
}
