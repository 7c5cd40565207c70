import type { Case } from './differential.ts'

/** A way to restrict access, with requests that it treats differently. */
interface Guard {
  readonly name: string
  /** Directives of a location. */
  readonly location: string
  /** Those of a server, where they are others. */
  readonly server?: string
  readonly requests: readonly Omit<Case, 'target'>[]
}

const right = { headers: { Authorization: `Basic ${Buffer.from('me:secret').toString('base64')}` } }
const basic = 'auth_basic realm; auth_basic_user_file {dir}/pw;'
const nine = { from: '127.0.0.9' }

const guards: readonly Guard[] = [
  { name: 'deny', location: 'deny 127.0.0.9; allow 127.0.0.0/8; deny all;', requests: [{}, nine] },
  { name: 'basic', location: basic, requests: [{}, right] },
  { name: 'any', location: `satisfy any; allow 127.0.0.9; deny all; ${basic}`, requests: [{}, nine, right] },
  {
    name: 'all',
    location: `satisfy all; allow 127.0.0.9; deny all; ${basic}`,
    requests: [{}, nine, right, { ...nine, ...right }],
  },
  { name: 'request', location: 'auth_request /check;', requests: [{}, { headers: { 'X-Pass': 'yes' } }] },
  {
    name: 'anyrequest',
    location: 'satisfy any; auth_request /check; allow 127.0.0.9; deny all;',
    requests: [{}, nine, { headers: { 'X-Pass': 'yes' } }],
  },
  { name: 'except', location: 'limit_except GET { deny all; }', server: '', requests: [{}, { method: 'POST' }] },
  { name: 'internal', location: 'internal;', server: '', requests: [{}] },
  {
    name: 'referer',
    location: 'valid_referers good.test; if ($invalid_referer) { return 403; }',
    requests: [{}, { headers: { Referer: 'http://good.test/' } }, { headers: { Referer: 'http://bad.test/' } }],
  },
  {
    name: 'link',
    location: 'secure_link $http_x_link; secure_link_md5 secret; if ($secure_link != 1) { return 403; }',
    requests: [{}, { headers: { 'X-Link': 'Xr4ilOzQ4PCOq3aQ0qbuaQ' } }],
  },
  {
    name: 'real',
    location: 'set_real_ip_from 127.0.0.0/8; real_ip_header X-Forwarded-For; allow 192.0.2.1; deny all;',
    requests: [{}, { headers: { 'X-Forwarded-For': '192.0.2.1' } }, { headers: { 'X-Forwarded-For': '192.0.2.2' } }],
  },
]

const check = 'location = /check { internal; if ($http_x_pass = yes) { return 204; } return 401; }'

/** Locations that lead to what a guard protects, by the ways that a request can take. */
function locationsOf({ name, location: guard }: Guard): string {
  return `
  location /${name}/loc/ { ${guard} alias {dir}/; }
  location = /${name}/exact { ${guard} alias {dir}/page.txt; }
  location ~ ^/${name}/pattern { ${guard} root {dir}; try_files /page.txt =404; }
  location /${name}/around/ { ${guard} root {dir};
    location /${name}/around/in/ { alias {dir}/; }
    location ~ ^/${name}/around/pattern { alias {dir}/page.txt; } }
  location /${name}/if/ { ${guard} if ($arg_a) { add_header X-If yes; } alias {dir}/; }
  location /${name}/proxy/ { ${guard} proxy_set_header X-Forwarded-For ""; proxy_pass http://{echo}/; }
  location /${name}/break/ { ${guard} rewrite ^/${name}/break/(.*)$ /$1 break; root {dir}; }
  location /${name}/rewritten { rewrite ^ /${name}/loc/page.txt last; }
  location /${name}/if-rewritten { if ($uri) { rewrite ^ /${name}/loc/page.txt last; } }
  location /${name}/page { error_page 404 /${name}/loc/page.txt; return 404; }
  location /${name}/page-200 { error_page 404 =200 /${name}/loc/page.txt; return 404; }
  location /${name}/tried { try_files /none /${name}/loc/page.txt; }
  location /${name}/named { try_files /none @${name}; }
  location @${name} { ${guard} root {dir}; try_files /page.txt =404; }
  location /${name}/index/ { alias {dir}/empty/; index none /${name}/loc/page.txt; }`
}

const paths = [
  ...['loc/page.txt', 'exact', 'pattern', 'around/in/page.txt', 'around/pattern', 'if/page.txt', 'if/page.txt?a=1', 'proxy/x'],
  ...['break/page.txt', 'rewritten', 'if-rewritten', 'page', 'page-200', 'tried', 'named', 'index/', 'loc/missing'],
]

/** Servers with every guard in every place. */
export const guardedServers = `
server { listen {on0}; server_name guards.test; svc_site guards; root {dir}; ${check} ${guards.map(locationsOf).join('')} }
${guards
  .filter(({ server }) => server !== '')
  .map(
    ({ name, location }) => `
server { listen {on0}; server_name ${name}.guards.test; root {dir}; ${location} ${check}
  error_page 403 /page.txt;
  location /in/ { alias {dir}/; }
  location /free/ { allow all; auth_basic off; auth_request off; alias {dir}/; }
  location /rewritten { rewrite ^ /in/page.txt last; } }`,
  )
  .join('')}
`

/** Requests for all of it. */
export const guardedRequests: readonly Case[] = guards.flatMap(({ name, server, requests }) =>
  requests.flatMap((request) => [
    ...paths.map((path) => ({ ...request, target: `/${name}/${path}`, host: 'guards.test' })),
    ...(server === ''
      ? []
      : ['/page.txt', '/in/page.txt', '/free/page.txt', '/rewritten', '/missing', '/check'].map((target) => ({
          ...request,
          target,
          host: `${name}.guards.test`,
        }))),
  ]),
)
