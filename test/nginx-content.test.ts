import { lutimesSync, readdirSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import { brotliCompressSync, gzipSync } from 'node:zlib'
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
  'one/only.txt': 'the only one',
  'hidden/.x': '',
  'one/.hidden': 'not this one',
  'listed/sub/x': '',
  'listed/a.txt': 'a',
  'listed/b"&<q>.txt': 'quotes',
  'listed/k.bin': 'k'.repeat(15_000),
  'listed/m.bin': 'm'.repeat(1_600_000),
  'listed/.hidden': '',
  [`listed/${'long'.repeat(13)}`]: '',
  [`listed/${'x'.repeat(50)}`]: '',
  [`listed/${'d'.repeat(50)}/x`]: '',
  'listed/ünï tab\t.txt': 'unicode',
  'coded/both.txt': 'plain text',
  'coded/plain.txt': 'only plain',
  'replaced/a.html': 'a foo FOO fofoo foofoox, a page',
  'replaced/a.txt': 'a foo FOO fofoo foofoox',
  'replaced/o.html': 'aaab aabcd abcd bcd foo aab ab aab ab foo foo \u00c3\u00a9 f',
  'replaced/empty.html': '',
  'replaced/big.html': `${'fo'.repeat(131_071)}foo ${'x'.repeat(262_140)}FOO ${'fo'.repeat(100_000)}`,
  'more.types': 'application/x-more more foo; text/x-twice FOO;',
}

const conf = `
map $arg_e $lifetime { long 1y; none off; default epoch; }
server { listen {on0}; server_name a.test; root {dir}; merge_slashes off;
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
  location /no-etag/ { etag off; alias {dir}/; }
  location /ims-off/ { if_modified_since off; alias {dir}/; }
  location /ims-before/ { if_modified_since before; alias {dir}/; }
  location /no-ranges/ { max_ranges 0; alias {dir}/; }
  location /one-range/ { max_ranges 1; alias {dir}/; }
  location /fields/ { add_header X-Plain plain; add_header X-Always always always; expires 1h; alias {dir}/; }
  location /fields-page/ { add_header X-Plain plain; error_page 416 /main/a.css; alias {dir}/; }
  location /expires/ { expires $arg_e; alias {dir}/; }
  location /expires-modified/ { expires modified $arg_e; alias {dir}/; }
  location /expires-map/ { expires $lifetime; alias {dir}/; }
  location /list/ { autoindex on; alias {dir}/listed/; }
  location /list-utf8/ { autoindex on; autoindex_exact_size off; charset utf-8; alias {dir}/listed/; }
  location /list-json/ { autoindex on; autoindex_format json; alias {dir}/listed/; }
  location /list-jsonp/ { autoindex on; autoindex_format jsonp; alias {dir}/listed/; }
  location /list-xml/ { autoindex on; autoindex_format xml; alias {dir}/listed/; }
  location /list-local/ { autoindex on; autoindex_localtime on; alias {dir}/listed/; }
  location /list-index/ { autoindex on; alias {dir}/; }
  location /list-off/ { autoindex off; alias {dir}/listed/; }
  location /random/ { random_index on; alias {dir}/one/; }
  location /random-none/ { random_index on; alias {dir}/hidden/; }
  location /gif { empty_gif; }
  location /status { stub_status; }
  location /status-guarded { stub_status on; deny all; }
  location /gif-before { empty_gif; if_modified_since before; }
  location /gif-if { empty_gif; if ($arg_a) { add_header X-If 1; } }
  location /gif-limited { empty_gif; limit_except POST { allow all; } }
  location /gz/ { gzip_static on; alias {dir}/coded/; }
  location /gz-vary/ { gzip_static on; gzip_vary on; alias {dir}/coded/; }
  location /gz-always/ { gzip_static always; gzip_vary on; alias {dir}/coded/; }
  location /gz-proxied/ { gzip_static on; gzip_proxied any; alias {dir}/coded/; }
  location /br/ { brotli_static on; gzip_static on; gzip_vary on; alias {dir}/coded/; }
  location /sub-once/ { sub_filter foo barbar; sub_filter o_ne 1; alias {dir}/replaced/; }
  location /sub-all/ { sub_filter foo barbar; sub_filter FOOX "$uri"; sub_filter_once off; sub_filter_types TEXT/plain; alias {dir}/replaced/; }
  location /sub-same/ { sub_filter aab 1; sub_filter ab 2; sub_filter abcd 3; sub_filter bc 4; sub_filter_once off; sub_filter_types *; alias {dir}/replaced/; }
  location /sub-modified/ { sub_filter foo ""; sub_filter_last_modified on; etag on; alias {dir}/replaced/; }
  location /sub-gzip/ { gzip on; gzip_min_length 1; gzip_vary on; sub_filter foo bar; alias {dir}/replaced/; }
  location /sub-variable/ { sub_filter $arg_what "<$arg_with>"; sub_filter_once off; alias {dir}/replaced/; }
  location /sub-return { sub_filter foo x; default_type text/html; return 200 "a foo FOO foo"; }
  location /sub-up/ { sub_filter_types *; sub_filter upstream_says "$uri"; sub_filter get-x "got"; sub_filter_once off; proxy_pass http://{echo}/; }
  location /sub-page/ { sub_filter page replaced; error_page 404 = /sub-page/a.html; alias {dir}/replaced/; }
  location /slashes/ { return 200 "$uri"; }
  location ~ ^/.*//kept { return 200 "kept $uri"; }
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

const old = 'Mon, 03 Feb 2020 04:05:06 GMT'
const later = 'Mon, 03 Feb 2020 04:05:07 GMT'

const conditional: readonly Case[] = [
  ...['main', 'no-etag', 'ims-off', 'ims-before', 'no-ranges', 'one-range', 'fields', 'fields-page'].flatMap((place) =>
    [
      {},
      {},
      {},
      { 'If-Modified-Since': old },
      { 'If-Modified-Since': later },
      { 'If-None-Match': '*' },
      { 'If-None-Match': '"x"' },
      { 'If-Match': '"x"' },
      { Range: 'bytes=0-1' },
      { Range: 'bytes=0-0,100-' },
      { Range: 'bytes=99-' },
      { Range: 'bytes=0-1', 'If-Range': old },
    ].map((headers) => ({ target: `/${place}/old.txt`, headers: headers as Readonly<Record<string, string>> })),
  ),
  ...['1h', '-1', 'epoch', 'max', 'off', '@1h', '30d', 'x', ''].flatMap((e) =>
    ['expires', 'expires-modified'].flatMap((place) => [
      { target: `/${place}/old.txt?e=${e}` },
      { target: `/${place}/none?e=${e}` },
    ]),
  ),
  ...['long', 'none', 'other'].flatMap((e) => often({ target: `/expires-map/old.txt?e=${e}` })),
  ...['/status', '/status-guarded'].flatMap((target) => ['HEAD', 'POST', 'PUT'].map((method) => ({ target, method }))),
  { target: '/status-guarded' },
  ...['/gif-if', '/gif-if?a=1', '/gif-limited'].flatMap((target) =>
    ['GET', 'HEAD', 'POST'].map((method) => ({ target, method })),
  ),
  ...['/gif', '/gif-before'].flatMap((target) => [
    ...often({ target }),
    ...['HEAD', 'POST'].map((method) => ({ target, method })),
    ...['Mon, 28 Sep 1970 06:00:00 GMT', old].map((time) => ({ target, headers: { 'If-Modified-Since': time } })),
    ...['*', '"x"'].flatMap((tag) => ['If-Match', 'If-None-Match'].map((name) => ({ target, headers: { [name]: tag } }))),
    { target, headers: { 'If-Unmodified-Since': 'Thu, 01 Jan 1970 00:00:01 GMT' } },
  ]),
]

const listings: readonly Case[] = [
  ...[
    'list',
    'list-utf8',
    'list-json',
    'list-jsonp',
    'list-xml',
    'list-local',
    'list-off',
    'list-index',
    'random',
    'random-none',
  ].flatMap((place) => [
    ...often({ target: `/${place}/` }),
    ...['HEAD', 'POST', 'PUT'].map((method) => ({ target: `/${place}/`, method })),
    ...['sub/', 'sub', 'a.txt/', 'none/', 'none'].map((name) => ({ target: `/${place}/${name}` })),
  ]),
  ...['cb', 'a.b_1', 'alert(1)', '', 'x'.repeat(129)].map((name) => ({ target: `/list-jsonp/?callback=${name}` })),
]

const reason = 'parts are of the plain file'
const ofPlainFile = { status: reason, body: reason, 'content-encoding': reason, 'content-range': reason, 'accept-ranges': reason }

const coded: readonly Case[] = ['gz', 'gz-vary', 'gz-always', 'gz-proxied', 'br'].flatMap((place) => [
  ...['gzip', 'br', 'br, gzip', '', 'gzip;q=0'].flatMap((accepted) =>
    ['both.txt', 'plain.txt', 'only.txt', 'none.txt'].flatMap((name) =>
      often({ target: `/${place}/${name}`, headers: accepted === '' ? {} : { 'Accept-Encoding': accepted } }),
    ),
  ),
  { target: `/${place}/both.txt`, method: 'HEAD', headers: { 'Accept-Encoding': 'gzip' } },
  { target: `/${place}/only.txt`, method: 'POST', headers: { 'Accept-Encoding': 'gzip' } },
  {
    target: `/${place}/both.txt`,
    headers: { 'Accept-Encoding': 'gzip', Range: 'bytes=0-1' },
    ...(place === 'gz-always' ? {} : { differs: ofPlainFile }),
  },
  { target: `/${place}/both.txt`, headers: { 'Accept-Encoding': 'gzip', Via: '1.1 a' } },
  { target: `/${place}/both.txt`, headers: { 'Accept-Encoding': 'gzip', 'If-Modified-Since': old } },
])

function prepare(dir: string): void {
  writeFileSync(join(dir, 'old.txt'), '0123456789')
  const listed = join(dir, 'listed')
  symlinkSync('gone', join(listed, 'broken'))
  symlinkSync('sub', join(listed, 'linked'))
  const coded = join(dir, 'coded')
  for (const name of ['both', 'only']) {
    writeFileSync(join(coded, `${name}.txt.gz`), gzipSync(`${name} in gzip`))
    writeFileSync(join(coded, `${name}.txt.br`), brotliCompressSync(`${name} in br`))
  }
  const time = new Date(old)
  const all = [...readdirSync(listed).map((name) => join(listed, name)), ...readdirSync(coded).map((name) => join(coded, name))]
  const replaced = readdirSync(join(dir, 'replaced')).map((name) => join(dir, 'replaced', name))
  for (const path of [join(dir, 'old.txt'), ...all, ...replaced]) if (!path.endsWith('broken')) utimesSync(path, time, time)
  lutimesSync(join(listed, 'broken'), time, time)
}

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
  ...[
    'a//b',
    '/a',
    'a//',
    '..//main/a.txt',
    'a//../b',
    'a//..',
    './/./a',
    '/../../main/a.txt',
    '%2F/a',
    'x//kept',
    '//',
    '/..//..',
  ].map((path) => ({ target: `/slashes/${path}` })),
  ...['//main/a.txt', '/main//a.txt', '/main///', '//'].map((target) => ({ target })),
  ...['once', 'all', 'same', 'modified', 'gzip', 'variable', 'page'].flatMap((place) =>
    (place === 'gzip' ? ['a.txt', 'big.html'] : ['a.html', 'a.txt', 'o.html', 'empty.html', 'big.html', 'none']).flatMap(
      (name) => [
        ...often({ target: `/sub-${place}/${name}`, headers: place === 'gzip' ? { 'Accept-Encoding': 'gzip' } : {} }),
        { target: `/sub-${place}/${name}`, method: 'HEAD' },
        ...(name === 'empty.html' ? [] : [{ target: `/sub-${place}/${name}`, headers: { Range: 'bytes=0-1' } }]),
        ...(place === 'same' ? [] : [{ target: `/sub-${place}/${name}`, headers: { 'If-Modified-Since': old } }]),
      ],
    ),
  ),
  ...['what=foo&with=bar', 'what=&with=x', 'what=OO&with=', 'with=x', 'what=f&with=%26'].flatMap((query) =>
    often({ target: `/sub-variable/a.html?${query}` }),
  ),
  ...['/sub-return', '/sub-up/get-x?a=get-x', '/sub-up/x?status=404', '/sub-up/x?status=304'].flatMap((target) =>
    often({ target }),
  ),
  ...conditional,
  ...listings,
  ...coded,
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
  const servers = await Differential.start(t, { conf, files, prepare })
  await servers?.compare(t, [...types, ...defaults])
})
