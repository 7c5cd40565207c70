import test from 'node:test'
import { type Case, Differential } from './nginx/differential.ts'

const files = {
  'index.html': 'root index',
  'a.txt': 'text a',
  'a.css': 'a{}',
  'a.js': 'js',
  'A.HTML': 'upper case',
  'a.foo': 'foo'.repeat(50),
  'a.tar.gz': 'archive',
  none: 'no ending',
  '.html': 'hidden',
  'dir.html/none': 'in a directory',
  'more.types': 'application/x-more more foo; text/x-twice FOO;',
}

const conf = `
server { listen {on0}; server_name a.test; root {dir};
  location /main/ { alias {dir}/; }
  location /own/ { types { application/x-foo foo FOO2; text/x-html html; } alias {dir}/; }
  location /own-default/ { types { application/x-foo foo; } default_type application/x-rest; alias {dir}/; }
  location /empty/ { types { } default_type application/pdf; alias {dir}/; }
  location /default/ { default_type application/octet-stream; alias {dir}/; }
  location /dollar/ { default_type "text/$arg_x"; alias {dir}/; }
  location /nothing/ { types { } default_type ""; alias {dir}/; }
  location /two/ { types { text/x-one foo css; } types { text/x-two foo; } alias {dir}/; }
  location /include/ { types { include {dir}/more.types; } alias {dir}/; }
  location /nested/ { types { text/x-outer foo; } location /nested/in/ { alias {dir}/; } }
  location /charset/ { charset koi8-r; charset_types text/x-one; types { text/x-one foo; text/html html; "text/x-one; charset=utf-16" css; } alias {dir}/; }
  location /charset-default/ { charset utf-8; default_type application/json; alias {dir}/; }
  location /gzip/ { gzip on; gzip_min_length 1; gzip_types text/x-one; types { text/x-one foo; } alias {dir}/; }
  location /return/ { return 200 "text"; }
  location /return-default/ { default_type application/json; return 200 "{}"; }
  location /return-own/ { types { text/x-foo foo; } default_type text/x-rest; return 404 "text"; }
  location /return-none/ { types { } default_type ""; return 200 "text"; }
  location /return-charset/ { charset utf-8; default_type text/html; return 200 "text"; }
  location /try/ { types { text/x-tried txt; } default_type text/x-rest; try_files /main$uri /a.txt; }
  location /page/ { error_page 404 /typed/a.css; alias {dir}/; }
  location /typed/ { types { text/x-page css; } alias {dir}/; }
  location /named/ { error_page 404 = @named; alias {dir}/; }
  location @named { types { } default_type text/x-named; return 404 "named"; }
  location /sent/ { types { text/x-sent foo; } add_header X-Type "$sent_http_content_type|"; alias {dir}/; }
  location /page-405/ { error_page 405 /main/a.txt; }
  location ~ ^/s/(?<code>\\d+)$ { ${[301, 302, 303, 307, 308].map((s) => `if ($code = ${s}) { return ${s} /x; }`).join(' ')}
    ${[400, 402, 408, 410, 414, 417, 418, 421, 422, 426, 428, 429, 431, 451, 500, 501, 503, 505, 506, 507, 508, 599].map((s) => `if ($code = ${s}) { return ${s}; }`).join(' ')} }
  location /echo/ { proxy_pass http://{echo}/; }
  location /large/ { client_max_body_size 2m; proxy_pass http://{echo}/; }
  location /return-444 { return 444; }
  location /up/ { types { } default_type text/x-never; proxy_pass http://{echo}/; }
  location /in-if/ { types { text/x-out foo; } if ($arg_on) { add_header X-If 1; } alias {dir}/; }
}
`

/** The third answer comes from L0. */
const often = (item: Case): Case[] => [item, item, item]

const places = [
  ...['main', 'own', 'own-default', 'empty', 'default', 'dollar', 'nothing', 'two', 'include', 'nested/in'],
  ...['charset', 'charset-default', 'sent'],
]
const names = ['a.txt', 'a.css', 'a.js', 'A.HTML', 'a.foo', 'a.tar.gz', 'none', '.html', 'dir.html/none', '']

const types: readonly Case[] = [
  ...places.flatMap((place) => names.map((name) => ({ target: `/${place}/${name}` }))),
  ...['return', 'return-default', 'return-own', 'return-none', 'return-charset'].flatMap((place) =>
    ['x', 'x.css', 'x.foo', 'x.html/'].map((name) => ({ target: `/${place}/${name}` })),
  ),
  ...['/own/a.foo', '/nothing/a.foo', '/return-default/x'].flatMap((target) => often({ target })),
  ...['/own/a.foo', '/nothing/a.foo', '/charset/a.foo'].flatMap((target) => [
    { target, method: 'HEAD' },
    { target, headers: { Range: 'bytes=1-' } },
  ]),
  ...often({ target: '/gzip/a.foo', headers: { 'Accept-Encoding': 'gzip' } }),
  ...['/try/a.foo', '/try/x', '/page/none.html', '/named/none.html', '/in-if/a.foo?on=1', '/up/x?type=text/x-up'].map(
    (target) => ({ target }),
  ),
]

const defaults: readonly Case[] = [
  ...['TRACE', 'GET', 'HEAD', 'PUT'].flatMap((method) =>
    ['/main/a.txt', '/main/none', '/main/dir.html', '/return-none/x', '/page-405/x', '/s/418', '/s/417'].map((target) => ({
      target,
      method,
    })),
  ),
  ...[301, 302, 303, 307, 308, 400, 402, 408, 410, 414, 421, 422, 426, 428, 429, 431, 451].map((status) => ({
    target: `/s/${status}`,
  })),
  ...[500, 501, 503, 505, 506, 507, 508, 599].map((status) => ({ target: `/s/${status}` })),
  { target: '/charset-default/none' },
  { target: '/echo/x', method: 'POST', body: 'x'.repeat(1024 * 1024) },
  { target: '/echo/x', method: 'POST', body: 'x'.repeat(1024 * 1024 + 1), status: 413 },
  {
    target: '/echo/x',
    method: 'POST',
    headers: { 'Transfer-Encoding': 'chunked' },
    body: `100001\r\n${'x'.repeat(0x100001)}\r\n0\r\n\r\n`,
    status: 413,
  },
  { target: '/main/a.txt', method: 'POST', body: 'x'.repeat(1024 * 1024 + 1), status: 413 },
  { target: '/large/x', method: 'POST', body: 'x'.repeat(1024 * 1024 + 1), status: 200 },
  { target: '/return-444', status: 0 },
  { target: '/return-444', method: 'HEAD', status: 0 },
]

test('files, types and errors are those of nginx', async (t) => {
  const servers = await Differential.start(t, { conf, files })
  await servers?.compare(t, [...types, ...defaults])
})
