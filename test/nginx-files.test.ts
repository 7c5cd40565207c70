import { chmodSync, mkdirSync, symlinkSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import { type Case, Differential } from './nginx/differential.ts'
import { randomTargets } from './nginx/random-targets.ts'

const files = {
  'index.html': 'root index',
  'a.txt': 'text a',
  'big.txt': `${'0123456789'.repeat(20_000)}`,
  'page.html': '<p>page</p>',
  'data.json': '{}',
  'style.css': 'a{}',
  'app.js': 'js',
  'pic.svg': '<svg/>',
  'unknown.xyz1': '?',
  'no-extension': 'none',
  '.hidden': 'hidden',
  '.dir/x.txt': 'in hidden',
  'a b.txt': 'space',
  'ünï.txt': 'unicode',
  'plus+.txt': 'plus',
  'percent%25.txt': 'percent',
  'sub/index.html': 'sub index',
  'sub/other.html': 'sub other',
  'sub/deep/x.txt': 'deep',
  'no-index/file.txt': 'no index here',
  'two/second.html': 'second',
  'php/index.php': 'never run',
  'empty.txt': '',
  'alias/one/f.txt': 'alias one',
  'alias/one/index.html': 'alias index',
  'alias/secret.txt': 'secret',
  'alias/one.txt': 'beside',
  'dir.txt/index.html': 'a directory with an extension',
  'tried.html': 'tried',
  'sp ace/100%/index.html': 'directories that need escaping',
  'hosts/a.test/h.txt': 'of host',
  'err/50x.html': 'fifty',
  'errors/404.html': 'not here',
}

const conf = `
server { listen {on0}; server_name a.test; root {dir}; index index.html;
  location / { }
  location /two/ { index first.html second.html; }
  location /abs-index/ { root {dir}/nowhere; index none.html /page.html; }
  location /idx-var/ { alias {dir}/sub/; index $arg_i other.html; }
  location /php/ { index index.php; }
  location ~ \\.php$ { return 200 "php $uri"; }
  location /al/ { alias {dir}/alias/one/; }
  location /al-trap { alias {dir}/alias/one/; }
  location /al-bare/ { alias {dir}/alias/one; }
  location = /al-exact { alias {dir}/a.txt; }
  location = /al-exact.html { alias {dir}/a.txt; }
  location ~ ^/al-re/(.+)\\.zz$ { alias {dir}/sub/$1; }
  location ~ ^/al-dir/(.*)$ { alias {dir}/$1; }
  location /al-try/ { alias {dir}/sub/; try_files $uri /al-try/other.html =404; }
  location /al-try2/ { alias {dir}/sub/; try_files other.html =404; }
  location ~ ^/al-re-try/(.*)$ { alias {dir}; try_files /$1 /a.txt =404; }
  location /al-rw/ { alias {dir}/sub/; rewrite ^/al-rw/(.*)$ /al-rw/$1 break; }
  location /al-name/ { alias {dir}/sub/; rewrite ^ /elsewhere break; add_header X-Name "$request_filename|" always; }
  location /al-break/ { alias {dir}/sub/; rewrite ^ /elsewhere break; try_files $uri /a.txt; }
  location /al-twice/ { alias {dir}/sub/; try_files $uri /al-twice//al-twice/other.html?$args; }
  location ~ ^/al-file/$ { alias {dir}/a.txt; }
  location /try/ { try_files $uri $uri/ /tried.html; }
  location /try-args/ { try_files $uri /tried.html?from=$uri&$args; }
  location /try-404/ { try_files $uri =404; }
  location /try-403/ { try_files $uri =403; }
  location /try-named/ { try_files $uri @fallback; }
  location /try-text/ { try_files /a.txt /b.txt =404; }
  location /try-html/ { rewrite ^/try-html/(.*)$ /$1 break; try_files $uri $uri.html $uri/index.html =404; }
  location /try-dir/ { rewrite ^/try-dir(/.*)$ $1 break; try_files $uri/ =404; }
  location @fallback { return 200 "fallback $uri $args"; }
  location /tried.html { add_header X-Args "$args|$uri"; }
  location /hosts/ { root {dir}/hosts/$host; rewrite ^/hosts(.*)$ $1 break; }
  location /arg-root/ { root {dir}/$arg_dir; rewrite ^/arg-root(.*)$ $1 break; }
  location /no-root/ { root /nonexistent/place; }
  location /exp-max/ { alias {dir}/; expires max; }
  location /exp-epoch/ { alias {dir}/; expires epoch; }
  location /exp-off/ { alias {dir}/; expires off; }
  location /exp-1h/ { alias {dir}/; expires 1h; }
  location /exp-0/ { alias {dir}/; expires 0; }
  location /exp-neg/ { alias {dir}/; expires -1; }
  location /exp-mod/ { alias {dir}/; expires modified +10y; }
  location /exp-mod-old/ { alias {dir}/; expires modified 1m; }
  location /exp-mod-0/ { alias {dir}/; expires modified 0; }
  location /exp-daily/ { alias {dir}/; expires @23h59m; }
  location /exp-cc/ { alias {dir}/; expires 1h; add_header Cache-Control "public, no-transform"; }
  location /add/ { alias {dir}/; add_header X-One 1; add_header X-Uri $uri; add_header X-Empty ""; add_header X-Always always always; add_header X-One 2; }
  location /add-etag/ { alias {dir}/; add_header ETag '"mine"'; add_header Last-Modified "Thu, 01 Jan 2015 00:00:00 GMT"; }
  location /gzip-off/ { alias {dir}/; gzip off; }
  location /link/ { alias {dir}/links/; }
  location /denied/ { }
}
`

function prepare(dir: string): void {
  const old = new Date('2020-02-03T04:05:06Z')
  for (const name of ['a.txt', 'page.html', 'big.txt', 'sub/index.html', 'errors/404.html']) utimesSync(join(dir, name), old, old)
  mkdirSync(join(dir, 'links'))
  symlinkSync(join(dir, 'a.txt'), join(dir, 'links/inside.txt'))
  symlinkSync('/etc/hostname', join(dir, 'links/outside'))
  symlinkSync(join(dir, 'sub'), join(dir, 'links/dir'))
  symlinkSync(join(dir, 'gone'), join(dir, 'links/broken'))
  mkdirSync(join(dir, 'denied'))
  chmodSync(join(dir, 'denied'), 0o755)
}

const paths: Case[] = [
  ...[
    '/',
    '/a.txt',
    '/page.html',
    '/data.json',
    '/style.css',
    '/app.js',
    '/pic.svg',
    '/empty.txt',
    '/big.txt',
    '/none',
    '/none/',
  ],
  ...[
    '/.hidden',
    '/.dir/x.txt',
    '/.dir/',
    '/a%20b.txt',
    '/%C3%BCn%C3%AF.txt',
    '/%FCn.txt',
    '/plus+.txt',
    '/plus%2B.txt',
    '/percent%2525.txt',
  ],
  ...[
    '/sub',
    '/sub/',
    '/sub?x=1',
    '/sub/?x=1',
    '/sub/deep',
    '/no-index',
    '/no-index/',
    '/no-index/file.txt',
    '/no-index/file.txt/',
  ],
  ...[
    '/a.txt/',
    '/a.txt/x',
    '/dir.txt',
    '/dir.txt/',
    '/two/',
    '/two/second.html',
    '/abs-index/',
    '/abs-index/?q',
    '/php/',
    '/php/index.php',
  ],
  ...[
    '/idx-var/?i=index.html',
    '/idx-var/?i=none',
    '/idx-var/',
    '/A.TXT',
    '//a.txt',
    '/sub/../a.txt',
    '/sub//index.html',
    '/sub/./index.html',
  ],
  ...[
    '/al/',
    '/al',
    '/al/f.txt',
    '/al/none',
    '/al/../alias/secret.txt',
    '/al-trap/f.txt',
    '/al-trapf.txt',
    '/al-bare/f.txt',
    '/al-bare/.txt',
  ],
  ...[
    '/al-exact',
    '/al-exact?x',
    '/al-exact.html',
    '/al-exact/',
    '/al-re/index.html.zz',
    '/al-re/none.zz',
    '/al-re/deep.zz',
    '/al-re/deep/x.txt.zz',
  ],
  ...[
    '/al-dir/sub',
    '/al-dir/sub/',
    '/al-dir/a.txt',
    '/al-dir/',
    '/al-try/index.html',
    '/al-try/x',
    '/al-try2/x',
    '/al-re-try/page.html',
    '/al-re-try/none',
  ],
  ...[
    '/al-rw/other.html',
    '/try/x',
    '/try/',
    '/try-args/x?y=1',
    '/try-404/x',
    '/try-403/x',
    '/try-named/x?y',
    '/try-text/x',
    '/try-html/tried',
  ],
  ...[
    '/try-html/a.txt',
    '/try-html/sub',
    '/try-html/sub/',
    '/try-html/none',
    '/try-dir/sub',
    '/try-dir/sub/',
    '/try-dir/two',
    '/try-dir/a.txt',
  ],
  ...[
    '/hosts/h.txt',
    '/hosts/none',
    '/no-root/x',
    '/no-root/',
    '/link/inside.txt',
    '/link/outside',
    '/link/dir',
    '/link/dir/',
    '/link/broken',
  ],
  ...[
    '/exp-max/a.txt',
    '/exp-epoch/a.txt',
    '/exp-off/a.txt',
    '/exp-1h/a.txt',
    '/exp-1h/none',
    '/exp-1h/sub',
    '/exp-0/a.txt',
    '/exp-neg/a.txt',
  ],
  ...[
    '/exp-mod/a.txt',
    '/exp-mod-0/a.txt',
    '/sp%20ace',
    '/sp%20ace/100%25?x=%20',
    '/al-break/x',
    '/al-name/x',
    '/al-twice/x?y',
    '/al-file/',
    '/exp-mod-old/a.txt',
    '/exp-daily/a.txt',
    '/exp-cc/a.txt',
    '/add/a.txt',
    '/add/none',
    '/add/sub',
    '/add-etag/a.txt',
  ],
  ...[
    '/denied/',
    `/${'x'.repeat(300)}`,
    `/${'y/'.repeat(500)}`,
    '/a.txt?x=1',
    '/sub/deep/',
    '/arg-root/a.txt?dir=.',
    '/arg-root/x.txt?dir=sub/deep',
  ],
].map((target) => ({ target }))

const withFields: Case[] = [
  ...['POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH', 'HEAD'].map((method) => ({ target: '/a.txt', method })),
  ...['POST', 'PUT', 'HEAD'].flatMap((method) => ['/sub', '/sub/', '/none', '/no-index/'].map((target) => ({ target, method }))),
  { target: '/a.txt', method: 'POST', body: 'x' },
  { target: '/a.txt', headers: { 'If-Modified-Since': 'Mon, 03 Feb 2020 04:05:06 GMT' }, status: 304 },
  { target: '/a.txt', headers: { 'If-Modified-Since': 'Mon, 03 Feb 2020 04:05:07 GMT' } },
  { target: '/a.txt', headers: { 'If-Modified-Since': 'Mon, 03 Feb 2020 04:05:05 GMT' } },
  { target: '/a.txt', headers: { 'If-Modified-Since': 'nonsense' } },
  { target: '/a.txt', headers: { 'If-None-Match': '"other"' } },
  { target: '/a.txt', headers: { 'If-None-Match': '*' } },
  {
    target: '/a.txt',
    after: { target: '/a.txt', field: 'etag', as: 'etag' },
    headers: { 'If-None-Match': '{etag}' },
    status: 304,
  },
  {
    target: '/a.txt',
    after: { target: '/a.txt', field: 'etag', as: 'etag' },
    headers: { 'If-None-Match': '"x", W/{etag}' },
    status: 304,
  },
  { target: '/a.txt', after: { target: '/a.txt', field: 'etag', as: 'etag' }, headers: { 'If-Match': '{etag}' } },
  { target: '/a.txt', headers: { 'If-Match': '"other"' }, status: 412 },
  { target: '/a.txt', headers: { 'If-Unmodified-Since': 'Mon, 03 Feb 2020 04:05:05 GMT' }, status: 412 },
  { target: '/a.txt', headers: { Range: 'bytes=0-1' }, status: 206 },
  { target: '/a.txt', headers: { Range: 'bytes=-2' }, status: 206 },
  { target: '/a.txt', headers: { Range: 'bytes=2-' }, status: 206 },
  { target: '/a.txt', headers: { Range: 'bytes=9-' }, status: 416 },
  { target: '/a.txt', headers: { Range: 'lines=1-2' }, status: 200 },
  { target: '/big.txt', headers: { Range: 'bytes=199990-' }, status: 206 },
  { target: '/a.txt', headers: { Range: 'bytes=0-1', 'If-Range': '"other"' }, status: 200 },
  {
    target: '/a.txt',
    after: { target: '/a.txt', field: 'etag', as: 'etag' },
    headers: { Range: 'bytes=0-1', 'If-Range': '{etag}' },
    status: 206,
  },
  { target: '/a.txt', headers: { Range: 'bytes=0-1', 'If-Range': 'Mon, 03 Feb 2020 04:05:06 GMT' }, status: 206 },
  {
    target: '/a.txt',
    method: 'HEAD',
    headers: { Range: 'bytes=0-1' },
    differs: {
      status: 'Range has a meaning for GET only (RFC 9110 section 14.2)',
      'content-range': 'the same',
      'accept-ranges': 'the same',
    },
  },
  { target: '/exp-1h/a.txt', headers: { 'If-Modified-Since': 'Mon, 03 Feb 2020 04:05:06 GMT' }, status: 304 },
  { target: '/add/a.txt', headers: { 'If-Modified-Since': 'Mon, 03 Feb 2020 04:05:06 GMT' }, status: 304 },
  { target: '/add/a.txt', headers: { Range: 'bytes=1-2' }, status: 206 },
  {
    target: '/add/a.txt',
    headers: { Range: 'bytes=99-' },
    status: 416,
  },
  { target: '/gzip-off/big.txt', headers: { 'Accept-Encoding': 'gzip' } },
  { target: '/hosts/h.txt', host: 'b.test' },
  { target: '/sub', host: 'other.test' },
  { target: '/sub', host: 'A.test:99' },
]

const words = [
  ...[
    'a.txt',
    'page.html',
    'sub',
    'index.html',
    'other.html',
    'deep',
    'x.txt',
    'no-index',
    'two',
    'abs-index',
    'idx-var',
    'php',
    'al',
  ],
  ...[
    'al-trap',
    'al-bare',
    'al-exact',
    'al-re',
    'al-dir',
    'al-try',
    'al-try2',
    'al-re-try',
    'al-rw',
    'try',
    'try-args',
    'try-404',
  ],
  ...[
    'try-named',
    'try-html',
    'try-dir',
    'tried',
    '.hidden',
    '.dir',
    'a%20b.txt',
    'plus+.txt',
    '..',
    '%2e%2e',
    'dir.txt',
    'add',
    'alias',
  ],
]

test('files are served as by nginx', async (t) => {
  const servers = await Differential.start(t, { conf, files, prepare })
  await servers?.compare(t, [...paths, ...withFields, ...randomTargets(13, words, 150)])
})
