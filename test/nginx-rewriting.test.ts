import test from 'node:test'
import { type Case, Differential } from './nginx/differential.ts'
import { randomTargets } from './nginx/random-targets.ts'

const conf = `
map $arg_kind $kind { default other; "" none; one first; ~^(?<letters>[a-z]+)-(\\d+)$ "$letters/$2"; ~*^UP up; two $uri; }
map $arg_kind $cookie_kind { default "$kind of a map"; none ""; }
map $arg_place $place { default @first; second @second; none @none; path /map; url http://else.test/; }
map $host $part { hostnames; default rest; a.test exact; *.wild.test suffix; .dot.test dotted; pre.* prefix; }
map $http_x_mode $mode { default plain; Fast quick; }
map "$kind:$part" $joined { default "[$kind|$part]"; none:exact neither; }
server { listen {on0}; server_name a.test *.wild.test .dot.test pre.*; svc_site a; root {dir};
  rewrite ^/server/(.*)$ /from-server/$1;
  rewrite ^/server-last/(.*)$ /from-server/$1 last;
  rewrite ^/server-moved$ /moved permanent;
  location / { return 200 "root $uri $args"; }
  location /from-server/ { return 200 "$uri|$args|$request_uri"; }
  location /vars { return 200 "$uri|$document_uri|$args|$query_string|$is_args|$request_uri|$request_method|$scheme|$host|$server_name|$server_protocol|$https|$document_root"; }
  location /arg { return 200 "$arg_a|$arg_B|$arg_none|$arg_a_b|$is_args$args"; }
  location /fields { return 200 "$http_x_one|$http_user_agent|$http_none|$content_type|$content_length|$cookie_a|$cookie_B|$http_cookie|$http_host"; }
  location /forwarded { return 200 "$proxy_add_x_forwarded_for|$remote_addr"; }
  location /placed { try_files /nowhere $place; }
  location /placed-by-name { try_files /nowhere @$arg_place; }
  location /placed-error { error_page 404 $place; return 404; }
  location /placed-error-by-name { error_page 404 = @$arg_place; return 404; }
  location @first { return 200 "first $uri"; }
  location @second { return 200 "second $uri"; }
  location /cookie-map { return 200 "$cookie_kind|$cookie_other"; }
  location /map { return 200 "$kind|$part|$mode|$joined"; }
  location /old/ { rewrite ^/old/(.*)$ /new/$1; }
  location /new/ { return 200 "new $uri|$args"; }
  location /last/ { rewrite ^/last/(.*)$ /new/$1 last; return 200 "never"; }
  location /break/ { rewrite ^/break/(.*)$ /new/$1 break; return 200 "here $uri"; }
  location /chain/ { rewrite ^/chain/(.*)$ /chain2/$1; rewrite ^/chain2/(.*)$ /new/chained-$1; }
  location /no-match/ { rewrite ^/other /new/; return 200 "no match $uri"; }
  location /args/ { rewrite ^/args/(.*)$ /new/?path=$1; }
  location /no-args/ { rewrite ^/no-args/(.*)$ /new/?path=$1?; }
  location /drop/ { rewrite ^/drop/(.*)$ /new/$1?; }
  location /path-only/ { absolute_redirect off; rewrite ^/path-only/to/(.*)$ /new/$1 redirect; alias {dir}/; }
  location /no-port/ { port_in_redirect off; rewrite ^/no-port/to/(.*)$ /new/$1 redirect; alias {dir}/; }
  location /own-name/ { server_name_in_redirect on; rewrite ^/own-name/to/(.*)$ /new/$1 redirect; alias {dir}/; }
  location /temp/ { rewrite ^/temp/(.*)$ /new/$1 redirect; }
  location /perm/ { rewrite ^/perm/(.*)$ /new/$1 permanent; }
  location /perm-args/ { rewrite ^/perm-args/(.*)$ /new/$1?x=$1 permanent; }
  location /perm-drop/ { rewrite ^/perm-drop/(.*)$ /new/$1? permanent; }
  location /url/ { rewrite ^/url/(.*)$ http://other.test/$1; }
  location /url-last/ { rewrite ^/url-last/(.*)$ https://other.test/$1 last; }
  location /scheme/ { rewrite ^/scheme/(.*)$ $scheme://$host/$1; }
  location /loop { rewrite ^/loop(.*)$ /loop$1x; }
  location /groups/ { rewrite ^/groups/(a)?(b)?(.*)$ /new/1=$1,2=$2,3=$3; }
  location ~ ^/captured/(?<first>[^/]+)/(.+)$ { rewrite ^/captured/[^/]+/(..) /new/$first-$1; }
  location ~ ^/life/(.)(.)$ { rewrite ^/life/ /new/$1; }
  location ~ ^/kept/(.)(.)$ { rewrite ^/never/ /new/; return 200 "$1$2"; }
  location /i { rewrite (?i)^/INSENSITIVE$ /new/i; }
  location /empty { rewrite ^/empty(.*)$ $1; }
  location /relative { rewrite ^ new/x last; }
  location /r200 { return 200; }
  location /r204 { return 204; }
  location /r201 { return 201 "made"; }
  location /r301 { return 301 /to; }
  location /r302 { return 302 http://else.test/x?y=1; }
  location /r303 { return 303 $uri/x; }
  location /r307 { return 307 /to?$args; }
  location /r308 { return 308 https://$host$request_uri; }
  location /rurl { return http://plain.test/; }
  location /r400 { return 400; }
  location /r403t { return 403 "no entry"; }
  location /r404 { return 404; }
  location /r410 { return 410 "gone $uri"; }
  location /r418 { return 418; }
  location /r429 { return 429; }
  location /r444 { return 444; }
  location /r500 { return 500; }
  location /r503 { return 503 "later"; }
  location /page.html { return 200 "<p>html</p>"; }
  location /data.json { return 200 '{"a":"$arg_a"}'; }
  location /style.css { return 200 "a{}"; }
  location /quoted { return 200 'single "double" \\'escaped\\' \\\\ \\$uri tab\\tend'; }
  location /braces { return 200 "\${uri}x \${arg_a}y"; }
  location /two { return 200 "one"; return 200 "two"; }
  location /first-rewrite { rewrite ^/first-rewrite/on$ /new/on last; return 302 /elsewhere; }
}
`

const cases: Case[] = [
  ...[
    '/server/x',
    '/server/x?y=1',
    '/server-last/x',
    '/server-moved',
    '/server-moved?a=1',
    '/vars',
    '/vars/a%20b?x=%20',
    '/vars?',
  ],
  ...[
    '/arg?a=1&b=2',
    '/arg?A=1&a=2',
    '/arg?xa=1&a',
    '/arg?a=',
    '/arg?a_b=3',
    '/arg?a=1;b=2',
    '/arg?a=x=y',
    '/arg?&&a=7&',
    '/arg',
  ],
  ...[
    '/map',
    '/map?kind=one',
    '/map?kind=ONE',
    '/map?kind=abc-12',
    '/map?kind=upper',
    '/map?kind=UPPER',
    '/map?kind=two',
    '/map?kind=x',
  ],
  ...[
    '/old/x',
    '/old/x?y=1',
    '/old/',
    '/last/x?z',
    '/break/x?y',
    '/chain/x',
    '/no-match/x',
    '/args/x',
    '/args/x?a=1',
    '/args/a%20b',
  ],
  ...[
    '/args/a+b',
    '/args/a%26b?c=d',
    '/args/%E4%BD%A0',
    '/no-args/x?a=1',
    '/drop/x?a=1',
    '/temp/x',
    '/temp/x?a=1',
    '/temp/a%20b',
  ],
  ...[
    '/temp/%E4%BD%A0',
    '/temp/a+b',
    '/temp/a%2Bb',
    '/temp/a%3Fb',
    '/temp/a%23b',
    '/temp/a%25b',
    '/perm/x',
    '/perm/x?a=b&c',
    '/perm/a%26b',
  ],
  ...[
    '/perm-args/x',
    '/perm-args/x?a=1',
    '/perm-args/a%20b?c',
    '/perm-drop/x?a=1',
    '/url/x',
    '/url/x?a=1',
    '/url-last/x',
    '/scheme/x?y',
  ],
  ...[
    '/loop',
    '/groups/abc',
    '/groups/b',
    '/groups/',
    '/captured/one/two',
    '/life/ab',
    '/kept/ab',
    '/insensitive',
    '/InSensitive',
    '/empty',
  ],
  ...[
    '/relative',
    '/r200',
    '/r201',
    '/r204',
    '/r301',
    '/r301?a=1',
    '/r302',
    '/r303',
    '/r303/a',
    '/r307?a=1',
    '/r307',
    '/r308?x=%20',
  ],
  ...[
    '/rurl',
    '/r400',
    '/r403t',
    '/r404',
    '/r410',
    '/r418',
    '/r429',
    '/r444',
    '/r500',
    '/r503',
    '/page.html',
    '/data.json?a=1',
    '/style.css',
  ],
  ...['/quoted', '/braces?a=1', '/two', '/first-rewrite', '/first-rewrite/on', '/new/%2e%2e/x', '/vars/%E4'],
].map((target) => ({ target }))

const withFields: Case[] = [
  { target: '/fields' },
  {
    target: '/fields',
    headers: { 'X-One': 'one', 'User-Agent': 'me', 'Content-Type': 'text/x', Cookie: 'b=2; a=1; aa=3', X_One: 'under' },
    body: 'abc',
    method: 'POST',
  },
  { target: '/fields', headers: { Cookie: 'A=upper; b="q"' } },
  { target: '/fields', headers: { Cookie: 'a=x;b=y' } },
  { target: '/fields', headers: { Cookie: 'a = spaced' } },
  { target: '/forwarded', headers: { 'X-Forwarded-For': '10.0.0.1' } },
  { target: '/forwarded', from: '127.0.0.9' },
  { target: '/map', headers: { 'X-Mode': 'FAST' } },
  { target: '/map', host: 'b.wild.test' },
  { target: '/map', host: 'dot.test' },
  { target: '/map', host: 'x.dot.test' },
  { target: '/map', host: 'pre.anything' },
  { target: '/map', host: 'A.TEST.' },
  ...['/placed', '/placed-by-name', '/placed-error', '/placed-error-by-name'].flatMap((path) =>
    ['', 'first', 'second', 'none', 'path', 'url', '%40first'].map((place) => ({ target: `${path}?place=${place}` })),
  ),
  ...['', 'one', 'none'].map((kind) => ({ target: `/cookie-map?kind=${kind}`, headers: { Cookie: 'kind=sent; other=x' } })),
  { target: '/vars', method: 'POST' },
  { target: '/vars', method: 'DELETE' },
  { target: '/r301', method: 'POST', body: 'x' },
  { target: '/r404', method: 'PUT', body: 'x' },
  { target: '/r301', host: 'a.test:81' },
  { target: '/r301', host: 'A.Test.' },
  ...['/path-only/to/x', '/no-port/to/x', '/own-name/to/x'].flatMap((target) => [
    { target, status: 302 },
    { target, host: 'x.dot.test:81', status: 302 },
  ]),
]

const words = [
  ...['server', 'server-last', 'vars', 'arg', 'old', 'new', 'last', 'break', 'chain', 'args', 'no-args', 'drop', 'temp', 'perm'],
  ...[
    'perm-args',
    'perm-drop',
    'url',
    'scheme',
    'groups',
    'captured',
    'life',
    'kept',
    'abc',
    'a%26b',
    'a+b',
    '%E4',
    '%20',
    '%25',
  ],
  ...['a%3Fb', 'r301', 'r404', '..', '%2e%2e', '%23', '%22', '~', ';', '%7B', '%5C'],
]

test('paths are rewritten, variables read and texts returned as by nginx', async (t) => {
  const servers = await Differential.start(t, { conf })
  await servers?.compare(t, [...cases, ...withFields, ...randomTargets(11, words, 150)])
})
