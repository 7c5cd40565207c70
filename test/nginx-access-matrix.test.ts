import { createHash } from 'node:crypto'
import test from 'node:test'
import { guardedRequests, guardedServers } from './nginx/access-matrix.ts'
import { type Case, Differential } from './nginx/differential.ts'

const conf = `
geo $net { default out; 127.0.0.0/8 loop; 127.0.0.9 nine; 127.0.1.0/24 one; 127.0.1.128/25 half; delete 127.0.1.0/24; 10.1.2.3/8 ten; ::1/128 six; 2001:db8::/32 doc; }
geo $arg_ip $of_arg { default none; 10.0.0.0/8 ten; 10.1.0.0/16 eleven; 255.255.255.255 broken; 2001:db8:1::/48 doc1; 2001:db8::/32 doc; 192.168.1.1 host; 192.168.1.1 twice; }
geo $behind { default direct; proxy 127.0.0.0/8; proxy_recursive; 192.0.2.0/24 client; 127.0.0.0/8 proxy; }
geo $behind_one { default direct; proxy 127.0.0.0/8; 192.0.2.0/24 client; 127.0.0.0/8 proxy; }
map $net $by_geo { loop mapped; default other; }
split_clients "$arg_id" $third { 33.3% one; 33.3% two; * three; }
split_clients "$arg_id$http_x" $half { 0.5% tiny; 50% half; }
split_clients $of_arg $split_of_geo { 50% a; * b; }
server { listen {on0}; server_name a.test; svc_site a; root {dir};
  location = /ok { internal; return 204; }
  location = /ok-text { internal; return 200 "fine"; }
  location = /ok-file { internal; alias {dir}/page.txt; }
  location = /no { internal; return 401; }
  location = /never { internal; return 403; }
  location = /moved { internal; return 302 /elsewhere; }
  location = /broken { internal; return 500; }
  location = /shown { internal; error_page 404 =401 /no; return 404; }
  location = /by-upstream { internal; proxy_pass_request_body off; proxy_set_header Content-Length "";
    proxy_set_header X-Original-Uri $request_uri; proxy_set_header X-Method $request_method; proxy_pass http://{echo}/auth?$arg_echo; }
  location = /by-sub { internal; proxy_set_header X-Uri $uri; proxy_pass http://{echo}; }
  location = /by-args { internal; if ($original ~ a) { return 401; } return 204; }
  location = /sets { internal; set $from_sub "sub $request_uri"; return 204; }
  location = /denied-inside { internal; deny all; return 204; }
  location = /post { internal; limit_except GET { deny all; } return 204; }

  location /ar/ok/ { auth_request /ok; alias {dir}/; }
  location /ar/text/ { auth_request /ok-text; alias {dir}/; }
  location /ar/file/ { auth_request /ok-file; alias {dir}/; }
  location /ar/no/ { auth_request /no; alias {dir}/; }
  location /ar/never/ { auth_request /never; alias {dir}/; }
  location /ar/moved/ { auth_request /moved; alias {dir}/; }
  location /ar/broken/ { auth_request /broken; alias {dir}/; }
  location /ar/shown/ { auth_request /shown; alias {dir}/; }
  location /ar/missing/ { auth_request /nothing-here; alias {dir}/; }
  location /ar/denied-inside/ { auth_request /denied-inside; alias {dir}/; }
  location /ar/post/ { auth_request /post; proxy_pass http://{echo}/; }
  location /ar/args/ { set $original $arg_a; auth_request /by-args; alias {dir}/; }
  location /ar/sets/ { auth_request /sets; add_header X-Set $from_sub always; alias {dir}/; }
  location /ar/return { auth_request /never; return 200 "before access"; }
  location /ar/up/ { auth_request /by-upstream; auth_request_set $seen $upstream_http_x_upstream; auth_request_set $type "<$upstream_http_content_type>";
    proxy_set_header X-Seen $seen; proxy_set_header X-Type $type; add_header X-Seen $seen always; proxy_pass http://{echo}/in/;
    location /ar/up/off/ { auth_request off; proxy_pass http://{echo}/off/; }
    location /ar/up/nested/ { proxy_pass http://{echo}/nested/; } }
  location /ar/sub/ { auth_request /by-sub; alias {dir}/; }
  location /ar/page/ { auth_request /no; error_page 401 = @login; alias {dir}/; }
  location /ar/page-in/ { auth_request /no; error_page 401 =200 /ar/page-in/login.html; alias {dir}/; }
  location @login { return 302 /login?from=$request_uri; }
  location /ar/try/ { auth_request /ok; try_files /none /page.txt; }
  location /ar/to { try_files /none /ar/never/page.txt; }
  location /ar/rewritten { rewrite ^ /ar/never/page.txt last; }
  location /ar/if/ { auth_request /never; if ($arg_a) { add_header X-If 1; } alias {dir}/; }
  location /ar/any/basic/ { satisfy any; auth_request /never; auth_basic realm; auth_basic_user_file {dir}/pw; alias {dir}/; }
  location /ar/any/ok/ { satisfy any; auth_request /ok; auth_basic realm; auth_basic_user_file {dir}/pw; deny all; alias {dir}/; }
  location /ar/any/broken/ { satisfy any; auth_request /broken; deny all; alias {dir}/; }
  location /ar/any/none/ { satisfy any; auth_request /never; deny all; alias {dir}/; }
  location /ar/any/up/ { satisfy any; auth_request /by-upstream; auth_basic realm; auth_basic_user_file {dir}/pw; alias {dir}/; }
  location /ar/all/ { auth_request /ok; auth_basic realm; auth_basic_user_file {dir}/pw; allow 127.0.0.0/8; deny all; alias {dir}/; }

  location /geo { return 200 "$net|$of_arg|$behind|$behind_one|$by_geo"; }
  location /geo-set { set $net mine; return 200 "$net"; }
  location /geo-deny/ { if ($net = nine) { return 403; } alias {dir}/; }
  location /split { return 200 "$third|$half|$split_of_geo"; }
  location /ref/ { valid_referers none blocked server_names *.example.org www.example.* .both.test example.com/in/ ~secret\\d ~^path.test/a; add_header X-Bad "[$invalid_referer]" always; alias {dir}/;
    location /ref/inherited/ { if ($invalid_referer) { return 403; } alias {dir}/; }
    location /ref/own/ { valid_referers own.test; if ($invalid_referer) { return 403; } alias {dir}/; } }
  location /ref-strict/ { valid_referers a.test; if ($invalid_referer) { return 403; } alias {dir}/; }
  location /ref-patterns/ { valid_referers ~\\.net/; if ($invalid_referer) { return 403; } alias {dir}/; }
  location /ref-none/ { return 200 "[$invalid_referer]"; }
  location /sl/ { secure_link $arg_md5,$arg_expires; secure_link_md5 "$secure_link_expires$uri secret"; if ($secure_link = "") { return 403; } if ($secure_link = "0") { return 410; } alias {dir}/;
    location /sl/inherited/ { if ($secure_link = "") { return 403; } return 200 "$secure_link"; } }
  location /sl-plain/ { secure_link $arg_md5; secure_link_md5 "$uri secret"; return 200 "[$secure_link][$secure_link_expires]"; }
  location /p/ { secure_link_secret word; if ($secure_link = "") { return 403; } rewrite ^ /secure/$secure_link; }
  location /secure/ { internal; alias {dir}/; }

  location /rate/ { limit_rate 1m; limit_rate_after 10k; alias {dir}/; }
  location /rate-set/ { set $limit_rate $arg_rate; add_header X-Rate $limit_rate; alias {dir}/; }

  location /le/deny/ { limit_except GET { deny all; } proxy_pass http://{echo}/; }
  location /le/post/ { limit_except POST put { deny all; } proxy_pass http://{echo}/; }
  location /le/pass/ { limit_except GET { proxy_pass http://unix:{socket}; } proxy_pass http://{echo}/get/; }
  location /le/users/ { limit_except GET HEAD { auth_basic realm; auth_basic_user_file {dir}/pw; } proxy_pass http://{echo}/; }
  location /le/return { limit_except GET { deny all; } return 200 "rewriting is for GET"; }
  location /le/rewritten { limit_except GET { allow all; } rewrite ^ /le-echo$uri last; proxy_pass http://{echo}; }
  location /le-echo/ { return 200 "$request_method $uri"; }
  location /le/files/ { limit_except GET { allow all; } alias {dir}/; try_files /page.txt =404; }
  location /le/outer/ { deny all; limit_except GET { allow 127.0.0.0/8; deny all; } proxy_pass http://{echo}/;
    location /le/outer/in/ { allow all; proxy_pass http://{echo}/in/; } }
  location /le/if/ { limit_except GET { deny all; } if ($arg_a) { set $b 1; } proxy_pass http://{echo}; }
  location /le/any/ { satisfy any; allow 127.0.0.0/8; limit_except GET { deny all; auth_basic realm; auth_basic_user_file {dir}/pw; } proxy_pass http://{echo}/; }
  location /le/headers/ { limit_except GET { deny all; } error_page 403 = @refused; add_header X-Outer 1 always; proxy_pass http://{echo}/; }
  location @refused { return 405 "refused"; }
  location @named { limit_except GET { deny all; } proxy_pass http://{echo}; }
  location /le/to-named { error_page 418 = @named; return 418; }
}
server { listen {on0}; server_name whole.test; root {dir}; auth_request /auth; auth_request_set $who $upstream_http_x_upstream; error_page 403 /denied.html;
  location = /auth { internal; proxy_pass http://{echo}/?status=$arg_unset$http_x_wanted; }
  location /who { add_header X-Who "$who" always; alias {dir}/page.txt; }
  location /free/ { auth_request off; alias {dir}/; }
}
${guardedServers}`

const files = {
  'page.txt': 'page\n',
  'login.html': 'login\n',
  'denied.html': 'denied\n',
  'empty/x': '',
  pw: 'me:{PLAIN}secret\n',
}
const right = { Authorization: `Basic ${Buffer.from('me:secret').toString('base64')}` }
const wrong = { Authorization: `Basic ${Buffer.from('me:guess').toString('base64')}` }

const authRequests: Case[] = [
  ...['ok', 'text', 'file', 'denied-inside', 'sets'].map((name) => ({ target: `/ar/${name}/page.txt`, status: 200 })),
  ...['no', 'shown'].map((name) => ({ target: `/ar/${name}/page.txt`, status: 401 })),
  { target: '/ar/never/page.txt', status: 403 },
  ...['moved', 'broken', 'missing'].map((name) => ({ target: `/ar/${name}/page.txt`, status: 500 })),
  { target: '/ar/never/page.txt', method: 'HEAD' },
  { target: '/ar/post/x', method: 'POST', body: 'posted', status: 200 },
  { target: '/ar/args/page.txt?a=b', status: 200 },
  { target: '/ar/args/page.txt?a=aa', status: 401 },
  { target: '/ar/return', status: 200 },
  { target: '/ar/up/x', status: 200 },
  { target: '/ar/up/x?echo=status%3D401' },
  ...[200, 201, 204, 299, 301, 400, 401, 403, 404, 429, 500, 503].map((status) => ({
    target: `/ar/up/x?a=1&echo=status=${status}`,
  })),
  { target: '/ar/up/nested/x', status: 200 },
  { target: '/ar/up/off/x', status: 200 },
  { target: '/ar/sub/page.txt?status=403', status: 200 },
  { target: '/ar/page/page.txt', status: 302 },
  { target: '/ar/page-in/page.txt', status: 401 },
  { target: '/ar/try/x', status: 200 },
  { target: '/ar/to', status: 403 },
  { target: '/ar/rewritten', status: 403 },
  { target: '/ar/if/page.txt?a=1', status: 403 },
  ...[
    '/ar/any/basic/page.txt',
    '/ar/any/ok/page.txt',
    '/ar/any/broken/page.txt',
    '/ar/any/none/page.txt',
    '/ar/all/page.txt',
  ].flatMap((target) => [{ target }, { target, headers: right }, { target, headers: wrong }]),
  { target: '/ar/any/up/page.txt?echo=status=401' },
  { target: '/ar/any/up/page.txt?echo=status=403', headers: right },
  ...['200', '401', '403', '404'].flatMap((wanted) =>
    ['/who', '/page.txt', '/free/page.txt', '/auth'].map((target) => ({
      target,
      host: 'whole.test',
      headers: { 'X-Wanted': wanted },
    })),
  ),
]

const limitedMethods: Case[] = [
  ...['deny', 'post', 'pass', 'users', 'files', 'outer', 'if', 'any', 'headers', 'outer/in'].flatMap((name) =>
    ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PROPFIND'].map((method) => ({ target: `/le/${name}/x`, method })),
  ),
  // The parser of Node.js takes no method that it does not know.
  ...['deny', 'post', 'pass', 'users', 'any'].map((name) => ({ target: `/le/${name}/x`, method: 'FOO', engine: 'uws' as const })),
  ...['GET', 'POST'].flatMap((method) =>
    ['/le/return', '/le/rewritten', '/le/to-named', '/le/if/x?a=1'].map((target) => ({ target, method })),
  ),
  { target: '/le/users/x', method: 'POST', body: 'a=1', headers: right, status: 200 },
  { target: '/le/users/x', method: 'POST', body: 'a=1', headers: wrong, status: 401 },
]

const referers = [
  ...['', 'a', 'http://', 'http://x', 'ftp://www.example.org/', 'https://www.example.org/', 'HTTP://WWW.Example.ORG:80/x'],
  ...['http://example.org/', 'http://www.example.net/', 'http://www.example.a.b/', 'http://both.test', 'http://x.both.test/'],
  ...['http://example.com/in/side', 'http://example.com/', 'http://example.com', 'http://a.test/page', 'http://b.a.test/'],
  ...[
    'http://host/secret1',
    'http://host/secret',
    'http://path.test/abc',
    'http://path.test/b',
    'http://own.test/',
    'http://x.net/y',
  ],
  `http://${'a'.repeat(250)}.example.org/`,
]

const computed: Case[] = [
  ...['127.0.0.1', '127.0.0.9', '127.0.1.5', '127.0.1.200'].flatMap((from) => [
    { target: '/geo', from },
    { target: '/geo-deny/page.txt', from },
  ]),
  ...['10.2.3.4', '10.1.3.4', 'x', '', '2001:db8::1', '2001:db8:1::1', '192.168.1.1', '::ffff:10.1.0.1'].map((ip) => ({
    target: `/geo?ip=${ip}`,
  })),
  ...['192.0.2.1', '192.0.2.1, 127.0.0.5', '192.0.2.1, 198.51.100.1', 'x', '198.51.100.1, 192.0.2.9', '127.0.0.8'].map(
    (value) => ({
      target: '/geo',
      headers: { 'X-Forwarded-For': value },
    }),
  ),
  { target: '/geo?ip=010.1.1.1', differs: { body: 'an address with leading zeros is none' } },
  ...['/rate/page.txt', '/rate-set/page.txt?rate=100k', '/rate-set/page.txt?rate=0', '/rate-set/page.txt?rate=x'].map(
    (target) => ({
      target,
    }),
  ),
  { target: '/geo-set' },
  ...Array.from({ length: 24 }, (_, id) => ({
    target: `/split?id=${'user-'.slice(0, id % 6)}${id * 7919}`,
    headers: { 'X-X': 'y' },
  })),
  { target: '/split?ip=10.1.1.1' },
  { target: '/split?id=%C3%A4' },
  ...[
    '/ref/page.txt',
    '/ref/inherited/page.txt',
    '/ref/own/page.txt',
    '/ref-strict/page.txt',
    '/ref-patterns/page.txt',
    '/ref-none/',
  ].flatMap((target) => [{ target }, ...referers.map((Referer) => ({ target, headers: { Referer } }))]),
  ...linkTargets(),
]

function md5(text: string, encoding: 'base64url' | 'hex'): string {
  return createHash('md5').update(text, 'latin1').digest(encoding)
}

function linkTargets(): Case[] {
  const [past, future] = [1_000_000_000, 4_000_000_000]
  const link = (path: string, expires: number | string) =>
    `${path}?md5=${md5(`${expires}${path} secret`, 'base64url')}&expires=${expires}`
  const plain = md5('/sl-plain/x secret', 'base64url')
  const targets = [
    ...[future, past, 0, '', 'x', '-5', `${future}0000`].map((expires) => link('/sl/page.txt', expires)),
    link('/sl/inherited/x', future),
    ...['/sl/page.txt', `/sl/page.txt?md5=&expires=${future}`, link('/sl/page.txt', future).replace('md5=', 'md5=A')],
    ...[
      plain,
      `${plain}==`,
      `${plain}=x`,
      `${plain}===`,
      plain.slice(1),
      `${plain},${future}`,
      `${plain},0`,
      plain.replace(/.$/, '+'),
    ].map((text) => `/sl-plain/x?md5=${text}`),
    `/p/${md5('page.txtword', 'hex')}/page.txt`,
    `/p/${md5('page.txtword', 'hex').toUpperCase()}/page.txt`,
    `/p/${md5('page.txtother', 'hex')}/page.txt`,
    `/p/${md5('page.txt?a=1word', 'hex')}/page.txt?a=1`,
    `/p/${md5('word', 'hex')}/`,
    ...['/p/', '/p/x/page.txt', '/secure/page.txt'],
  ]
  return targets.map((target) => ({ target }))
}

test('access is checked as nginx checks it', async (t) => {
  const servers = await Differential.start(t, { conf, files })
  if (servers === undefined) return
  await t.test('auth_request', (t) => servers.compare(t, authRequests))
  await t.test('geo, split_clients, valid_referers and secure_link', (t) => servers.compare(t, computed))
  await t.test('every guard in every place', (t) => servers.compare(t, guardedRequests))
  await t.test('limit_except', (t) => servers.compare(t, limitedMethods))
})
