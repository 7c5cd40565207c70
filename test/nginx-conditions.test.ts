import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import { type Case, Differential } from './nginx/differential.ts'

const conf = `
map $arg_zone $mapped { default plain; over over; }
server { listen {on0}; server_name a.test; svc_site a; root {dir};
  set $server_var "server-$arg_v";
  if ($host = other.test) { return 301 http://a.test$request_uri; }
  if ($arg_stop = server) { return 403 "stopped"; }
  if ($uri ~ ^/from-if/(.*)$) { rewrite ^ /echo-uri/$1 last; }
  if ($arg_brk) { break; }
  rewrite ^/maybe-broken$ /echo-uri/rewritten;
  location /maybe-broken { return 200 "not rewritten $uri"; }
  location /echo-uri/ { return 200 "$uri|$args|$server_var"; }
  location /set { set $a one; set $b "$a-two"; set $a three; return 200 "$a $b $unset_later"; }
  location /later { set $unset_later x; return 200 "$unset_later"; }
  location /set-args { set $args "changed=1"; return 200 "$args|$is_args|$arg_changed|$request_uri"; }
  location /set-args-proxy { set $args "a=1&b=2"; proxy_pass http://{echo}; }
  location /set-map { set $mapped mine; return 200 "$mapped"; }
  location /map { return 200 "$mapped"; }
  location /filled { if ($arg_a) { return 200 "filled"; } return 200 "empty"; }
  location /equal { if ($arg_a = "one two") { return 200 "spaces"; } if ($arg_a = $arg_b) { return 200 "same"; } if ($arg_a != x) { return 200 "not x"; } return 200 "x"; }
  location /match { if ($http_user_agent ~ "^(Mo[a-z]+)/(\\d)") { return 200 "$1 $2"; } if ($http_user_agent ~* curl) { return 200 curl; } if ($http_user_agent !~* bot) { return 200 "no bot"; } return 200 "bot $1"; }
  location ~ ^/captures/(.)(.)$ { if ($arg_a ~ (x)(y)) { set $found "$1$2"; } return 200 "$1$2-$found"; }
  location ~ ^/lost/(.)$ { if ($arg_a ~ never) { return 200 never; } return 200 "[$1]"; }
  location /named { if ($arg_id ~ "^(?<id>\\d+)$") { return 200 "id $id"; } return 200 "none $id"; }
  location /methods { if ($request_method !~ ^(GET|HEAD|POST)$) { return 405; } return 200 ok; }
  location /bare/text { add_header X-On text; return 200 "text"; }
  location /bare/made { return 201 "made"; }
  location /bare/paged { error_page 412 /echo-uri/paged; return 200 paged; }
  location /bare/list/ { autoindex on; alias {dir}/list/; }
  location /negated { if ($arg_a !~ ^[a-z]+$) { return 200 "not letters"; } return 200 "letters"; }
  location /files/ { if (-f $request_filename) { return 200 "file"; } if (-d $request_filename) { return 200 "directory"; } if (!-e $request_filename) { return 200 "nothing"; } return 200 "other"; }
  location /exec/ { if (-x $request_filename) { return 200 "executable"; } if (!-x $request_filename) { return 200 "plain"; } }
  location /front/ { if (!-e $request_filename) { rewrite ^/front/(.*)$ /echo-uri/index.php?q=$1 last; } }
  location /break/ { rewrite ^/break/(.*)$ /echo-uri/$1; break; return 200 never; }
  location /break-here/ { set $x 1; if ($arg_a) { break; } return 200 "on $x"; }
  location /broken/ { rewrite ^/broken/(.*)$ /other/$1; break; proxy_pass http://{echo}/base/; }
  location /broken-flag/ { rewrite ^/broken-flag/(.*)$ /other/$1 break; proxy_pass http://{echo}/base/; }
  location /fields { add_header X-Outer outer; if ($arg_a) { add_header X-Inner inner; } if ($arg_b) { set $b 1; } alias {dir}/page.txt; }
  location /last-wins { add_header X-At outer; if ($arg_a) { add_header X-At a; } if ($arg_b) { add_header X-At b; } root {dir}; try_files /page.txt =404; }
  location /try/ { try_files /page.txt =404; if ($arg_a) { set $b 1; } }
  location /root/ { root {dir}; if ($arg_a) { root {dir}/other; } }
  location /pass { if ($arg_a) { proxy_pass http://{echo}; } return 200 "not passed"; }
  location /pass-in { if ($arg_a) { proxy_pass http://{echo}; } proxy_set_header X-Way "$arg_a"; root {dir}; }
  location /inherit/ { proxy_set_header X-Set set; proxy_pass http://{echo}/base/; if ($arg_a) { set $b 1; } }
  location /errors { error_page 404 /echo-uri/outer; if ($arg_a) { error_page 404 /echo-uri/inner; } return 404; }
  location /expires { expires 1h; if ($arg_v) { expires max; } alias {dir}/page.txt; }
  location /zero { if ($arg_a) { return 200 yes; } return 200 no; }
  location /several { set $ok 0; if ($arg_a = 1) { set $ok "\${ok}1"; } if ($arg_b = 1) { set $ok "\${ok}2"; } if ($ok = 012) { return 200 both; } return 200 $ok; }
  location /deny-if { deny all; if ($arg_a) { set $b 1; } root {dir}; }
  location /deny-if-return { deny all; if ($arg_a) { return 200 "returned before access"; } root {dir}; }
  location /auth { auth_basic realm; auth_basic_user_file {dir}/pw; if ($arg_a) { add_header X-In if; } alias {dir}/page.txt; }

  location /nest { add_header X-Level one;
    location /nest/in { return 200 "in $uri"; }
    location = /nest/exact { return 200 exact; }
    location ~ \\.(\\w+)$ { return 200 "nested pattern $1"; }
    location /nest/deep/ { location /nest/deep/er/ { return 200 deeper; } location ~ two { return 200 "two inside"; } return 200 deep; }
    location ^~ /nest/final/ { location ~ x { return 200 "x in final"; } return 200 final; }
    return 200 "nest $uri";
  }
  location ^~ /closed/ { location /closed/open { return 200 open; } return 200 closed; }
  location /plain/ { location /plain/in/ { return 200 in; } return 200 plain; }
  location ~ ^/out/(?<word>\\w+) { location ~ /(\\d+)$ { return 200 "number $1 of $word"; } return 200 "word $word"; }
  location ~ \\.outer$ { return 200 "outer pattern"; }
  location /guard/ { deny all; location /guard/free/ { allow all; return 200 free; } location /guard/kept/ { root {dir}; } location ~ \\.txt$ { root {dir}; } }
  location /users/ { auth_basic realm; auth_basic_user_file {dir}/pw; root {dir}; location /users/in/ { root {dir}; } location /users/off/ { auth_basic off; alias {dir}/; } }
  location /any/ { satisfy any; auth_basic realm; auth_basic_user_file {dir}/pw; root {dir};
    location /any/denied/ { deny all; }
    location /any/allowed/ { allow 127.0.0.0/8; deny all; }
    location /any/neither/ { allow 10.0.0.1; }
    location /any/no-auth/ { auth_basic off; deny all; }
    location /any/no-auth-free/ { auth_basic off; allow 10.0.0.1; }
    location /any/no-file/ { auth_basic_user_file {dir}/none; deny all; }
    location /any/all/ { satisfy all; allow 127.0.0.0/8; deny all; }
    location /any/all-denied/ { satisfy all; deny all; } }
  location /inner/ { internal; location /inner/nested/ { return 200 "nested in internal"; } return 200 inner; }
  location /to-inner { rewrite ^ /inner/nested/x last; }
  location /alias/ { alias {dir}/; location ~ \\.txt$ { add_header X-Nested alias; } location /alias/sub/ { add_header X-Nested prefix; } }
  location /proxied/ { proxy_pass http://{echo}/base/; location /proxied/not/ { root {dir}; } location ~ \\.php$ { proxy_pass http://{echo}; } }
  location /limited/ { client_max_body_size 10; location /limited/more/ { client_max_body_size 100; return 200 more; } location /limited/same/ { return 200 same; } return 200 limited; }
  location /slash { location /slash/in/ { proxy_pass http://{echo}; } return 200 "slash $uri"; }
}
`

const files = {
  'page.txt': 'page',
  'other/root/a.txt': 'other root',
  'root/a.txt': 'root',
  'list/a.txt': 'a',
  'files/a.txt': 'a',
  'files/dir/b.txt': 'b',
  'exec/plain.sh': 'x',
  'front/there.txt': 'there',
  'sub/s.txt': 's',
  'guard/a.txt': 'guarded',
  'guard/kept/a.txt': 'guarded',
  'users/in/a.txt': 'users',
  ...Object.fromEntries(
    ['', 'denied/', 'allowed/', 'neither/', 'no-auth/', 'no-auth-free/', 'no-file/', 'all/', 'all-denied/'].map((name) => [
      `any/${name}x`,
      name,
    ]),
  ),
  'deny-if': 'denied',
  'pass-in': 'a file',
  'proxied/not/a.txt': 'not proxied',
}

const targets = [
  ...['/echo-uri/x?a=1', '/x?stop=server', '/from-if/a%20b?x=1', '/maybe-broken', '/maybe-broken?brk=1', '/maybe-broken?brk=0'],
  ...['/set', '/later', '/set-args?x=1', '/set-args-proxy?x=1', '/set-map?zone=over', '/map?zone=over', '/map'],
  ...['/filled', '/filled?a=', '/filled?a=0', '/filled?a=00', '/filled?a=1', '/zero?a=0', '/zero?a=%30'],
  ...['/equal?a=one%20two', '/equal?a=b&b=b', '/equal', '/equal?a=x&b=y', '/equal?a=y', '/match'],
  ...['/captures/ab', '/captures/ab?a=xy', '/lost/z', '/lost/z?a=never', '/named?id=12', '/named?id=x', '/methods'],
  ...[
    '/negated?a=abc',
    '/negated?a=1',
    '/files/a.txt',
    '/files/dir',
    '/files/none',
    '/files/a.txt/x',
    '/exec/plain.sh',
    '/exec/run.sh',
    '/exec/none',
  ],
  ...[
    '/front/there.txt',
    '/front/gone?x=1',
    '/break/x',
    '/break-here/x',
    '/break-here/x?a=1',
    '/broken/x?y=1',
    '/broken-flag/x?y=1',
  ],
  ...['/fields', '/fields?a=1', '/fields?b=1', '/fields?a=1&b=1', '/last-wins', '/last-wins?a=1', '/last-wins?a=1&b=1'],
  ...['/try/x', '/try/x?a=1', '/root/a.txt', '/root/a.txt?a=1', '/pass', '/pass?a=1', '/pass-in', '/pass-in?a=1'],
  ...[
    '/inherit/x',
    '/inherit/x?a=1',
    '/errors',
    '/errors?a=1',
    '/expires',
    '/expires?v=1',
    '/several',
    '/several?a=1',
    '/several?a=1&b=1',
  ],
  ...['/deny-if', '/deny-if?a=1', '/deny-if-return', '/deny-if-return?a=1', '/auth', '/auth?a=1'],
  ...[
    '/nest',
    '/nest/in',
    '/nest/in/x',
    '/nest/inx',
    '/nest/exact',
    '/nest/a.css',
    '/nest/in/a.css',
    '/nest/x.outer',
    '/nest/deep/',
    '/nest/deep/x',
    '/nest/deep/er/',
    '/nest/deep/er/two',
    '/nest/deep/two',
    '/nest/deep/x.outer',
    '/nest/final/',
    '/nest/final/x',
    '/nest/final/y.outer',
  ],
  ...[
    '/closed/x',
    '/closed/open',
    '/closed/x.outer',
    '/closed/open.outer',
    '/plain/',
    '/plain/x.outer',
    '/plain/in/',
    '/plain/in/x.outer',
    '/out/word',
    '/out/word/12',
    '/out/word/x',
    '/x.outer',
  ],
  ...[
    '/guard/a.txt',
    '/guard/',
    '/guard/free/x',
    '/guard/free/x.txt',
    '/guard/kept/a.txt',
    '/guard/kept/',
    '/guard/free',
    '/guard/x.outer',
  ],
  ...['/users/in/a.txt', '/users/in/', '/users/x', '/users/off/page.txt', '/users/in/x.outer'],
  ...['/inner/', '/inner/x', '/inner/nested/x', '/to-inner', '/inner/x.outer'],
  ...[
    '/alias/page.txt',
    '/alias/sub/s.txt',
    '/alias/sub/',
    '/alias/none',
    '/proxied/x',
    '/proxied/not/a.txt',
    '/proxied/x.php?y=1',
    '/proxied/not/x.php',
  ],
  ...['/slash/in', '/slash/in/', '/slash/in/x', '/slash'],
]

/** Conditions of requests for what has no validators. */
const conditions = [
  { 'If-None-Match': '*' },
  { 'If-None-Match': '"x"' },
  { 'If-Match': '*' },
  { 'If-Match': '"x"' },
  { 'If-Match': '"x"', 'If-None-Match': '*' },
  { 'If-Modified-Since': 'Fri, 01 Jan 2100 00:00:00 GMT' },
  { 'If-Unmodified-Since': 'Thu, 01 Jan 1970 00:00:00 GMT' },
]

const cases: Case[] = [
  ...['/bare/text', '/bare/made', '/bare/paged', '/bare/list/'].flatMap((target) =>
    conditions.flatMap((headers) => ['GET', 'HEAD', 'POST'].map((method) => ({ target, method, headers }))),
  ),
  ...targets.map((target) => ({ target })),
  { target: '/a/b?x=1', host: 'other.test', status: 301 },
  ...['Mozilla/5', 'CURL/8', 'Googlebot', 'other'].map((agent) => ({ target: '/match', headers: { 'User-Agent': agent } })),
  ...['GET', 'POST', 'DELETE'].map((method) => ({ target: '/methods', method, status: method === 'DELETE' ? 405 : 200 })),
  ...['/auth?a=1', '/users/in/a.txt', '/auth'].flatMap((target) =>
    ['dTpzZWNyZXQ=', 'dTp3cm9uZw=='].map((credentials, index) => ({
      target,
      headers: { Authorization: `Basic ${credentials}` },
      status: index === 0 ? 200 : 401,
    })),
  ),
  ...['x', 'denied/x', 'allowed/x', 'neither/x', 'no-auth/x', 'no-auth-free/x', 'no-file/x', 'all/x', 'all-denied/x'].flatMap(
    (name) =>
      [{}, { Authorization: 'Basic dTpzZWNyZXQ=' }, { Authorization: 'Basic dTp3cm9uZw==' }].map((headers) => ({
        target: `/any/${name}`,
        headers,
      })),
  ),
  ...['/limited/x', '/limited/more/x', '/limited/same/x'].flatMap((target) =>
    [5, 50, 500].map((length) => ({ target, method: 'POST', body: 'x'.repeat(length) })),
  ),
]

test('if, set, break and nested locations answer as in nginx', { timeout: 300_000 }, async (t) => {
  const prepare = (dir: string) => {
    writeFileSync(join(dir, 'pw'), 'u:{PLAIN}secret\n')
    writeFileSync(join(dir, 'exec/run.sh'), 'x', { mode: 0o755 })
  }
  const differential = await Differential.start(t, { conf, files, prepare })
  await differential?.compare(t, cases)
})
