import test from 'node:test'
import { type Case, Differential } from './nginx/differential.ts'

const text = 'text that gets smaller, again and again. '
const files = {
  'a.html': text.repeat(40),
  'a.css': text.repeat(40),
  'a.txt': text.repeat(40),
  'short.html': text.repeat(3),
  'page.html': text.repeat(20),
}

const conf = `
gzip_types text/plain;
server { listen {on0}; server_name a.test; root {dir};
  location /default/ { alias {dir}/; }
  location /off/ { gzip off; alias {dir}/; }
  location /on/ { gzip on; alias {dir}/; }
  location /types/ { gzip on; gzip_types text/css application/json; alias {dir}/; }
  location /all/ { gzip on; gzip_types *; alias {dir}/; }
  location /long/ { gzip on; gzip_min_length 1k; alias {dir}/; }
  location /vary/ { gzip on; gzip_vary on; alias {dir}/; }
  location /vary-long/ { gzip on; gzip_vary on; gzip_min_length 1k; alias {dir}/; }
  location /any-version/ { gzip on; gzip_http_version 1.0; alias {dir}/; }
  location /old/ { gzip on; gzip_disable msie6; alias {dir}/; }
  location /agents/ { gzip on; gzip_disable "^curl/7" "bot$"; alias {dir}/; }
  location /page/ { gzip on; error_page 404 /page.html; alias {dir}/; }
  location = /page.html { gzip on; }
  location /up/ { gzip on; gzip_types application/json; proxy_pass http://{echo}/; }
  location /up-any/ { gzip on; gzip_types application/json; gzip_proxied any; proxy_pass http://{echo}/; }
  location /up-fresh/ { gzip on; gzip_types application/json; gzip_proxied expired no-cache no-store private auth; proxy_pass http://{echo}/; }
  location /up-bare/ { gzip on; gzip_types application/json; gzip_proxied no_last_modified no_etag; proxy_pass http://{echo}/; }
  location /in-if/ { gzip_types text/css; if ($arg_on) { gzip on; } alias {dir}/; }
}
`

/** The upstream's response contains the query, and so gets smaller. */
const pad = `pad=${'a'.repeat(300)}`

const gzip = { 'Accept-Encoding': 'gzip' }
const via = { ...gzip, Via: '1.1 proxy.test' }

/** Requests of which all but the first two get an answer of L0, if it is the same for all. */
const often = (item: Case): Case[] => [item, item, item]

const cases: readonly Case[] = [
  ...['default', 'off', 'on', 'types', 'all', 'long', 'vary', 'any-version', 'old', 'agents'].flatMap((location) =>
    ['a.html', 'a.css', 'a.txt', 'short.html'].flatMap((name) => often({ target: `/${location}/${name}`, headers: gzip })),
  ),
  ...['deflate', 'gzip;q=0', 'identity'].map((value) => ({ target: '/vary/a.html', headers: { 'Accept-Encoding': value } })),
  {
    target: '/vary/a.html',
    headers: { 'Accept-Encoding': '*' },
    differs: { 'content-encoding': 'br, which fits too', body: 'in this coding', 'accept-ranges': 'none in a coding' },
  },
  {
    target: '/vary/a.html',
    headers: { 'Accept-Encoding': 'gzip;q=0.5, identity' },
    differs: { 'content-encoding': 'identity, which the client prefers', 'accept-ranges': 'none in a coding' },
  },
  { target: '/vary/a.html' },
  ...['default', 'on', 'long', 'vary', 'vary-long', 'off'].flatMap((location) =>
    ['a.html', 'short.html'].flatMap((name) => often({ target: `/${location}/${name}`, method: 'HEAD', headers: gzip })),
  ),
  ...often({ target: '/vary-long/short.html', headers: gzip }),
  { target: '/on/a.html', headers: gzip, version: '1.0', engine: 'node' },
  { target: '/any-version/a.html', headers: gzip, version: '1.0', engine: 'node' },
  ...['/on/a.html', '/vary/a.html', `/up/x?${pad}`, `/up-any/x?${pad}`, `/up-fresh/x?${pad}`, `/up-bare/x?${pad}`].flatMap(
    (target) => [
      ...often({ target, headers: gzip }),
      { target, headers: via },
      { target, headers: { ...via, Authorization: 'Basic eDp5' } },
      { target, headers: gzip },
    ],
  ),
  ...['', 'no-cache', 'no-store', 'private', 'max-age=1, private'].flatMap((value) =>
    ['/up/x', '/up-fresh/x', '/up-bare/x'].map((target) => ({
      target: `${target}?${pad}&cache=${encodeURIComponent(value)}`,
      headers: via,
    })),
  ),
  ...['Thu, 01 Jan 1970 00:00:01 GMT', 'Thu, 31 Dec 2037 23:55:55 GMT', 'never'].flatMap((value) =>
    ['/up-fresh/x', '/up-bare/x'].map((target) => ({
      target: `${target}?${pad}&expires=${encodeURIComponent(value)}`,
      headers: via,
    })),
  ),
  ...['403', '404', '500', '201'].map((status) => ({ target: `/up/x?${pad}&status=${status}`, headers: gzip })),
  { target: '/page/none', headers: gzip, status: 404 },
  ...[
    'Mozilla/4.0 (compatible; MSIE 6.0; Windows NT 5.1)',
    'Mozilla/4.0 (compatible; MSIE 6.0; Windows NT 5.1; SV1)',
    'Mozilla/4.0 (compatible; MSIE 5.5; Windows 98)',
    'Mozilla/4.0 (compatible; MSIE 7.0; Windows NT 5.1)',
    'CURL/7.1',
    'a Bot',
    'botany',
  ].flatMap((agent) =>
    ['/old/a.html', '/agents/a.html'].flatMap((target) => [
      { target, headers: { ...gzip, 'User-Agent': agent } },
      { target, headers: gzip },
    ]),
  ),
  { target: '/in-if/a.css', headers: gzip },
  { target: '/in-if/a.css?on=1', headers: gzip },
]

test('answers are compressed on the terms of nginx', async (t) => {
  const servers = await Differential.start(t, { conf, files })
  await servers?.compare(t, cases)
})
