import test from 'node:test'
import { type Case, Differential } from './nginx/differential.ts'
import { randomTargets } from './nginx/random-targets.ts'

const hosts = `
server { listen {on0}; server_name first.test; return 200 "first"; }
server { listen {on0} default_server; server_name default.test; return 200 "default"; }
server { listen {on0}; server_name exact.test www.exact.test; return 200 "exact $server_name $host $http_host"; }
server { listen {on0}; svc_site wild; server_name *.exact.test; return 200 "suffix $host"; }
server { listen {on0}; svc_site deep; server_name *.deep.exact.test; return 200 "deeper suffix"; }
server { listen {on0}; svc_site dotted; server_name .dotted.test; return 200 "dotted"; }
server { listen {on0}; svc_site mail; server_name mail.*; return 200 "prefix"; }
server { listen {on0}; svc_site mail2; server_name mail.deep.*; return 200 "deeper prefix"; }
server { listen {on0}; svc_site re1; server_name ~^(?<user>\\w+)-(\\d+)\\.re\\.test$; return 200 "user $user number $2 of $server_name"; }
server { listen {on0}; svc_site re2; server_name ~^(.+)\\.re\\.test$; return 200 "any $1"; }
server { listen {on0}; svc_site nohost; server_name "" nohost.test;
  location / { return 200 "no host"; }
  location = /to { return 301 /there; }
}
server { listen {on0}; svc_site second-exact; server_name exact.test only-second.test; return 200 "never for exact.test: $host"; }
server { listen {on0}; server_name kept.test; merge_slashes off;
  location / { return 200 "open $uri"; }
  location /closed/ { return 403; }
}
server { listen {on1}; server_name exact.test; svc_site exact.test; merge_slashes off;
  location / { return 200 "other address"; }
  location = /to { return 301 /there?x; }
}
server { listen {on1}; server_name second.test; return 200 "second there"; }
server { listen {on1}; server_name merged.test;
  location / { return 200 "open $uri"; }
  location /closed/ { return 403; }
}
`

const hostCases: Case[] = [
  ...['first.test', 'default.test', 'exact.test', 'www.exact.test', 'EXACT.test', 'exact.test.', 'exact.test:8080'],
  ...[
    'a.exact.test',
    'b.a.exact.test',
    'x.deep.exact.test',
    'deep.exact.test',
    'dotted.test',
    'a.dotted.test',
    'b.a.dotted.test',
  ],
  ...['mail.org', 'mail.deep.org', 'mail.a.b.c', 'joe-12.re.test', 'JOE-12.re.test', 'joe.re.test', 'unknown.test', 'test'],
  ...[
    '127.0.0.1',
    '[::1]',
    '[::1]:80',
    'exact.test:',
    'mail',
    'exact.test.:80',
    'nohost.test',
    'xexact.test',
    'only-second.test',
  ],
].map((host) => ({ target: '/', host }))

test('the server of a request is the one that nginx chooses', async (t) => {
  const servers = await Differential.start(t, { conf: hosts, addresses: 2 })
  const there = ['exact.test', 'second.test', 'first.test', 'unknown.test'].map((host) => ({ target: '/', host, on: 1 }))
  // A request of HTTP/1.1 without one is refused by both.
  // RFC 9112 section 3.2.2: the target says the host, and the field counts for nothing.
  const whole = { body: 'nginx shows the field as it was sent' }
  const without: Case[] = [
    { target: '/', host: null, status: 400 },
    { target: '/', host: null, version: '1.0', engine: 'node', status: 200 },
    { target: '/', host: 'exact.test', version: '1.0', engine: 'node' },
    { target: '/', host: null, version: '1.0', engine: 'node', on: 1 },
    { target: '/to', host: null, version: '1.0', engine: 'node', status: 301 },
    { target: '/to', host: null, version: '1.0', engine: 'node', on: 1 },
    { target: '/to', host: 'exact.test:1', version: '1.0', engine: 'node', on: 1 },
    { target: 'http://exact.test/', host: 'first.test', engine: 'node', differs: whole },
    { target: 'http://exact.test', host: 'first.test', engine: 'node', differs: whole },
    { target: 'http://EXACT.test:99/?x', host: 'first.test', engine: 'node', differs: whole },
  ]
  // The default server of an address decides: the path is read before the host is known.
  const slashes = ['/closed/a', '//closed/a', '/closed//a', '/a/../closed//a', '//a'].flatMap((target) => [
    { target, host: 'kept.test' },
    { target, host: 'merged.test', on: 1 },
  ])
  await servers?.compare(t, [...hostCases, ...there, ...without, ...slashes])
})

const locations = `
server { listen {on0}; server_name a.test; root {dir};
  location / { return 200 "root $uri"; }
  location = / { return 200 "exact root"; }
  location = /exact { return 200 "exact"; }
  location /exact { return 200 "prefix of exact $uri"; }
  location /images/ { return 200 "images"; }
  location ^~ /images/final/ { return 200 "final"; }
  location /images/final/deeper/ { return 200 "deeper prefix"; }
  location ~ \\.png$ { return 200 "png"; }
  location ~* \\.(jpe?g|gif)$ { return 200 "picture $1"; }
  location ~ ^/user/(?<name>[^/]+)/(\\d+)$ { return 200 "user $name $2 $1"; }
  location ~ ^/order { return 200 "first regex"; }
  location ~ ^/order/later { return 200 "second regex"; }
  location /sp\\ ace { return 200 "never"; }
  location "/with space/" { return 200 "space"; }
  location /caf\u00e9/ { return 200 "accent $uri"; }
  location /enc%20oded { return 200 "percent"; }
  location @named { return 200 "named"; }
  location = /to-named { error_page 404 = @named; return 404; }
  location /a/ { return 200 "a"; }
  location /a/b/ { return 200 "ab"; }
  location /a/b { return 200 "ab without slash"; }
  location /proxied/ { proxy_pass http://{echo}; }
  location /both/ { proxy_pass http://{echo}; }
  location /both { return 200 "both"; }
  location = /only/ { proxy_pass http://{echo}; }
  location ^~ /x { return 200 "x"; }
  location ~ ^/x { return 200 "never x"; }
  location ~ "^/q{2}$" { return 200 "quoted regex"; }
  location ~ ^/esc\\.html$ { return 200 "dot"; }
}
`

const locationCases: Case[] = [
  ...['/', '/x', '/xyz', '/exact', '/exact/', '/exactly', '/images/', '/images/a', '/images/a.png', '/images/final/a.png'],
  ...['/images/final/deeper/a.png', '/images', '/A.JPG', '/a.gif', '/b.jpeg', '/c.PNG', '/user/joe/12', '/user/joe/x'],
  ...['/order', '/order/later', '/with%20space/', '/with%20space', '/caf%C3%A9/', '/caf%c3%a9/x', '/enc%2520oded', '/enc%20oded'],
  ...['/to-named', '/@named', '/a', '/a/', '/a/b', '/a/b/', '/a/bc', '/a/b/c', '/proxied', '/proxied?x=1&y=2', '/both', '/both/'],
  ...['/only', '/only?q', '/qq', '/qqq', '/esc.html', '/escxhtml', '/proxied/%20', '/Exact', '/EXACT'],
  // Paths are decoded, slashes merged and dot segments removed before a location is looked for.
  ...[
    '//exact',
    '/./exact',
    '/x/../exact',
    '/%65xact',
    '/exact%2f',
    '/a%2Fb%2fc',
    '/a/%2e%2e/exact',
    '/a/.%2e/exact',
    '/a//b//c',
  ],
  ...['/a/./b/', '/a/b/..', '/a/b/.', '/a/..', '/exact/../x', '/images/final/../a.png', '/%', '/%zz', '/%4', '/%00', '/a%00b'],
  ...[
    '/..',
    '/../x',
    '/a/../../x',
    '/%2e%2e/',
    '/a/...',
    '/a/.../b',
    '/a/..b',
    '/a/.b',
    '/%3Fx',
    '/%23x',
    '/%25',
    '/a+b',
    '/a%2Bb',
  ],
  ...[
    '/exact?',
    '/exact?a=/../b',
    '/exact?%zz',
    '/;x',
    '/a;b=c/d',
    '/~user',
    '/a%5Cb',
    '/*',
    '/a|b',
    '/"q"',
    '/<x>',
    '/{x}',
    '/^',
  ],
].map((target) => ({ target }))

const words = [
  ...[
    'a',
    'b',
    'ab',
    'exact',
    'images',
    'final',
    'deeper',
    'x.png',
    'x.JPG',
    'user',
    'joe',
    '12',
    'order',
    'later',
    'with%20space',
  ],
  ...[
    'caf%C3%A9',
    'enc%2520oded',
    'proxied',
    'both',
    'only',
    'x',
    'qq',
    '%2e',
    '%2e%2e',
    '..',
    '.',
    '...',
    '%',
    '%3F',
    '+',
    '%2B',
  ],
]

test('the location of a path is the one that nginx chooses', async (t) => {
  const servers = await Differential.start(t, { conf: locations })
  await servers?.compare(t, [...locationCases, ...randomTargets(7, words, 150)])
})
