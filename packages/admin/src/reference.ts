import type { Endpoint, EndpointGroup } from './contract/endpoint.ts'
import type { Field, FieldSchema } from './contract/fields.ts'
import { listEndpoints } from './endpoints.ts'

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
  health: 'Probes. Open to everybody, not logged.',
  metrics: 'Open to everybody, not logged.',
  maintenance: 'For the host itself; always there.',
  api: 'Management.',
  admin: 'There unless `endpoints.admin` is false.',
}

const INTRODUCTION = `# Endpoints

What the server itself answers, on every host. Made from the table in \`packages/admin\`.

Everything below \`/__svc/\` goes before any site. Other paths, such as \`/health\` and \`/metrics\`, are the site's where the addressed site defines them:

- a route rule that redirects, blocks or proxies the path, or rewrites it alone;
- a route without dynamic segments, or a file in \`public/\`;
- in a server of a vhost file: a location that proxies or runs something (\`proxy_pass\`, \`fastcgi_pass\`, \`return\`, \`svc_app\`, a \`rewrite\` that redirects) and that the request gets to,
  by its path or by way of \`rewrite\`, \`try_files\` or \`error_page\`; a location for exactly this path; a location for less than all paths that has \`allow\`, \`deny\`, \`auth_basic\` or \`internal\`;
  a file or directory of this path.

A catch-all route, or \`location /\` with files, does not count. The same path with another method is always the site's.

Access: _open_; _loopback_: only to the host itself, and _role_: the same, until there are users. A request comes from the host itself if its peer is
a loopback address that is no trusted proxy, its Host is a loopback name, address or a site of the configuration, it has no field that a
proxy adds, and no page of another site sent it. \`server.loopback_trust = false\` ends that; a proxy on this machine that adds none of these
fields needs it. The command line (\`svc purge\`) always works for the user of the instance.

A body is JSON of at most 1 MiB with \`content-type: application/json\`; no body is \`{}\`. What is not understood is answered with 400 and
\`errors\`, and [codes](errors.md) of other refusals. Success is JSON with \`"ok": true\`. Purges and flushes answer

\`\`\`json
{ "ok": true, "layer": "isr", "purged": 1, "also": { "l0": 2, "isr": 0, "l2": 0, "proxy": 0 }, "scope": { "tag": "posts" },
  "workers": { "acked": 2, "total": 2 }, "instances": { "acked": 1, "known": 1 }, "took_ms": 3.1 }
\`\`\`

once no process serves anything that was purged. \`purged\` counts entries of the named layer that were really dropped, \`also\` those of others.
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

function fieldsText(schema: FieldSchema | undefined): string {
  return Object.entries(schema ?? {})
    .map(([name, field]) => fieldText(name, field))
    .join('<br>')
}

function row(endpoint: Endpoint): string {
  const { method, path, access, summary, query, body } = endpoint
  const request = [fieldsText(query), fieldsText(body)].filter((text) => text !== '').join('<br>')
  return `| \`${method} ${path}\` | ${access} | ${summary} | ${request} |`
}

/** The reference page of all endpoints, in Markdown. */
export function endpointReference(): string {
  const all = allEndpoints()
  const groups = [...new Set(all.map(({ group }) => group))]
  const sections = groups.map((group) => {
    const rows = all.filter((endpoint) => endpoint.group === group).map(row)
    const head = ['| endpoint | access | what | query and body |', '| --- | --- | --- | --- |']
    return [`## \`${group}\``, '', groupTexts[group], '', ...head, ...rows, ''].join('\n')
  })
  return [INTRODUCTION, ...sections].join('\n')
}
