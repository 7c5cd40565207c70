import test from 'node:test'
import { startDns } from '@svc/testkit'
import { type Case, Differential } from './nginx/differential.ts'

const texts = ['page.html', 'a.txt', 'a.css', 'a.bin']
const files = {
  'err.html': 'page of an error',
  ...Object.fromEntries(
    ['charset', 'charset/own', 'charset/off', 'charset/variable', 'sent'].flatMap((dir) =>
      texts.map((name) => [`${dir}/${name}`, name]),
    ),
  ),
}

const confWith = (dns: string) => `
resolver ${dns} valid=30s ipv6=off;
upstream hashed { hash $arg_k; server {echo} weight=2; server {echo2}; }
upstream ring { hash $arg_k consistent; server {echo}; server {echo2} weight=3; }
upstream random { random; server {echo}; server 127.0.0.1:1 down; }
upstream two { random two least_conn; zone two 64k; server {echo} max_conns=9; server 127.0.0.1:1 down; }
upstream once { server 127.0.0.1:1; server {echo} backup; }
upstream one { server {echo}; }
upstream echo { server {echo}; keepalive 4; }
upstream nobody { server 127.0.0.1:1; server 127.0.0.1:2 backup; }
map $arg_to $place { whole {echo}/p%20q; query {echo}?z=1; default {echo}; }
map $sent_http_content_type $kind { default other; "text/html" page; ~^text/ text; "" none; }
map $http_upgrade $switched { default upgrade; "" close; }
server { listen {on0}; server_name a.test; root {dir}; error_page 502 504 /err.html;
  location / { proxy_pass http://{echo}; }
  location /strip/ { proxy_pass http://{echo}/; }
  location /replace/ { proxy_pass http://{echo}/other/; }
  location /no-slash { proxy_pass http://{echo}/other; }
  location /with-slash/ { proxy_pass http://{echo}/other; }
  location /fixed-args/ { proxy_pass http://{echo}/x?fixed=1; }
  location = /exact { proxy_pass http://{echo}/exactly; }
  location ~ ^/re/(.*)$ { proxy_pass http://{echo}; }
  location ~ ^/re-var/(.*)$ { proxy_pass http://{echo}/made/$1$is_args$args; }
  location /var/ { proxy_pass http://{echo}$request_uri; }
  location /var-uri/ { proxy_pass http://{echo}$uri; }
  location /place/ { proxy_pass http://$place; }
  location /place-uri/ { proxy_pass http://$place/u; }
  location ~ ^/re-place/ { proxy_pass http://$place/u; }
  location "/sl ash/" { proxy_pass http://{echo}; }
  location /backend/ { set $backend http://{echo}; proxy_pass $backend; }
  location /backend-uri/ { set $backend http://{echo}/base; proxy_pass $backend; }
  location /backend-rest/ { set $backend http://{echo}; proxy_pass $backend/base$request_uri; }
  location /backend-group/ { set $name echo; set $way http; proxy_pass $way://$name; }
  location /backend-scheme/ { proxy_pass $scheme://{echo}; proxy_set_header X-Proxy "$proxy_host|$proxy_port"; }
  location /backend-redirect/ { set $backend http://{echo}; proxy_pass $backend; proxy_redirect http://inner.test/ /outer/; }
  location /backend-bad/ { set $backend ftp://{echo}; proxy_pass $backend; }
  location /backend-none/ { proxy_pass $arg_none; }
  location /backend-rewritten/ { set $backend http://{echo}; rewrite ^/backend-rewritten/(.*)$ /to/$1 break; proxy_pass $backend; }
  location /backend-rewritten-uri/ { set $backend http://{echo}/base/; rewrite ^/backend-rewritten-uri/(.*)$ /to/$1 break; proxy_pass $backend; }
  location /intercepted/ { proxy_pass http://{echo}/; proxy_intercept_errors on; error_page 404 410 /err.html; error_page 500 =200 /err.html;
    error_page 503 @echo; error_page 302 = /strip/moved; error_page 401 /none; add_header X-Seen "$sent_http_x_upstream" always; }
  location /not-intercepted/ { proxy_pass http://{echo}/; proxy_intercept_errors off; error_page 404 /err.html; }
  location /intercepted-none/ { proxy_pass http://{echo}/; proxy_intercept_errors on; error_page 500 /err.html; }
  location /passed-field/ { proxy_pass http://{echo}/; proxy_hide_header X-Hidden; proxy_hide_header X-Upstream; proxy_pass_header X-Hidden; }
  location /charset/ { charset koi8-r; add_header X-Type "$sent_http_content_type"; root {dir};
    location /charset/own/ { charset_types text/css application/json; }
    location /charset/off/ { charset off; }
    location /charset/variable/ { charset $arg_charset; }
    location /charset/text { return 200 text; }
    location /charset/proxied { proxy_pass http://{echo}; } }
  location /sent/ { add_header X-Kind "$kind"; add_header X-Cached "$sent_http_cache_control"; expires 1h; root {dir}; }
  location /socket/ { proxy_pass http://unix:{socket}:/; proxy_set_header X-Proxy "$proxy_host|$proxy_port"; }
  location /usual-port/ { proxy_pass http://one/; proxy_set_header X-Proxy "$proxy_host|$proxy_port"; }
  location /own-port/ { proxy_pass http://{echo}/; proxy_set_header X-Proxy "$proxy_host|$proxy_port"; }
  location /kept/ { internal; alias {dir}/; expires 1h; error_page 404 /kept/err.html; }
  location /group/ { proxy_pass http://echo/g/; }
  location /group-plain/ { proxy_pass http://echo; }
  location /rewritten/ { rewrite ^/rewritten/(.*)$ /to/$1 break; proxy_pass http://{echo}; }
  location /rewritten-uri/ { rewrite ^/rewritten-uri/(.*)$ /to/$1 break; proxy_pass http://{echo}/base/; }
  location /rewritten-last/ { rewrite ^/rewritten-last/(.*)$ /strip/$1 last; }
  location /rewritten-args/ { rewrite ^/rewritten-args/(.*)$ /to?p=$1 break; proxy_pass http://{echo}; }
  location /headers/ { proxy_pass http://{echo}/; proxy_set_header Host $host; proxy_set_header X-Real-IP $remote_addr;
    proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for; proxy_set_header X-Forwarded-Proto $scheme;
    proxy_set_header X-Uri "$uri|$args|$request_uri|$arg_a"; proxy_set_header X-Empty ""; proxy_set_header User-Agent ""; }
  location /host-fixed/ { proxy_pass http://{echo}/; proxy_set_header Host fixed.test; }
  location /host-twice/ { proxy_pass http://{echo}/; proxy_set_header Host first.test; proxy_set_header Host second.test; }
  location /host-http/ { proxy_pass http://{echo}/; proxy_set_header Host $http_host; }
  location /host-proxy/ { proxy_pass http://echo/; proxy_set_header X-Proxy-Host $proxy_host; }
  location /v11/ { proxy_pass http://{echo}/; proxy_http_version 1.1; proxy_set_header Connection ""; }
  location /hide/ { proxy_pass http://{echo}/; proxy_hide_header X-Hidden; }
  location /added/ { proxy_pass http://{echo}/; add_header X-Added $uri; add_header X-Always 1 always; expires 1h; }
  location /redirect/ { proxy_pass http://{echo}/; }
  location /redirect-off/ { proxy_pass http://{echo}/; proxy_redirect off; }
  location /redirect-own/ { proxy_pass http://{echo}/; proxy_redirect http://inner.test/ /outer/; }
  location /intercept/ { proxy_pass http://{echo}/; error_page 404 /err.html; }
  location /down/ { proxy_pass http://nobody; }
  location /down-own/ { proxy_pass http://nobody; error_page 502 =200 /err.html; }
  location /down-named/ { proxy_pass http://nobody; error_page 502 @echo; }
  location /down-plain/ { proxy_pass http://nobody; error_page 500 /none; }
  location /lost/ { proxy_pass http://{echo}/dropped/; error_page 502 = @echo; }
  location @echo { proxy_pass http://{echo}; }
  location /try/ { try_files $uri @echo; }
  location /try-same/ { try_files /err.html =404; proxy_pass http://{echo}; }
  location /page-proxied/ { error_page 404 = @echo; return 404; }
  location /page-proxied-uri/ { error_page 404 = /strip/page; return 404; }
  location /unbuffered/ { proxy_pass http://{echo}/; proxy_buffering off; }
  location /denied/ { deny all; proxy_pass http://{echo}; }
  location /limited/ { client_max_body_size 5; proxy_pass http://{echo}; }
  location /hashed/ { proxy_pass http://hashed/; }
  location /ring/ { proxy_pass http://ring/; }
  location /random/ { proxy_pass http://random/; }
  location /two/ { proxy_pass http://two/; }
  location /tries/ { proxy_pass http://once/; proxy_next_upstream_tries 1; }
  location /more-tries/ { proxy_pass http://once/; proxy_next_upstream_tries 2; proxy_next_upstream_timeout 10s; }
  location /by-name/ { set $name up.test; proxy_pass http://$name:{port}; proxy_set_header X-Proxy "$proxy_host|$proxy_port"; }
  location /by-name-uri/ { set $name UP.test; proxy_pass http://$name:{port}$request_uri; }
  location /no-name/ { set $name none.test; proxy_pass http://$name:{port}; }
  location /no-address/ { set $name empty.test; proxy_pass http://$name; }
  location /known-name/ { set $name up.test; proxy_pass http://$name:{port}/x; resolver 127.0.0.1:1; resolver_timeout 1s; }
  location /cookies/ { proxy_pass http://{echo}/; proxy_cookie_domain .inner.test .outer.test; proxy_cookie_domain ~^(\\w+)\\.inner\\.test$ $1.outer.test;
    proxy_cookie_domain $arg_from $host; proxy_cookie_path /app/ /; proxy_cookie_path ~*^/OLD/(.*)$ "/new/$1"; proxy_cookie_path /under/ $uri;
    proxy_cookie_flags one secure httponly samesite=strict; proxy_cookie_flags ~^T nosecure nohttponly nosamesite; proxy_cookie_flags $arg_flagged $arg_flag;
    location /cookies/off/ { proxy_pass http://{echo}/; proxy_cookie_domain off; proxy_cookie_path off; proxy_cookie_flags off; } }
  location /method/ { proxy_pass http://{echo}/; proxy_method POST; }
  location /method-var/ { proxy_pass http://{echo}/; proxy_method $arg_m; }
  location /set-body/ { proxy_pass http://{echo}/; proxy_set_body "a=$arg_a|$uri"; }
  location /no-body/ { proxy_pass http://{echo}/; proxy_pass_request_body off; proxy_set_header Content-Length ""; proxy_set_header X-Original-URI $request_uri; }
  location /no-fields/ { proxy_pass http://{echo}/; proxy_pass_request_headers off; proxy_set_header X-Own "$http_x_one"; }
  location /internal-only/ { internal; proxy_pass http://{echo}; }
}
`

const targets: Case[] = [
  ...[
    '/',
    '/x',
    '/x?a=1',
    '/a%20b',
    '/a%2Fb',
    '/a//b',
    '/a/./b',
    '/a/../b',
    '/%41',
    '/x?',
    '/x?%20=%zz',
    '/caf%C3%A9',
    '/a+b',
    '/"q"',
  ],
  ...[
    '/strip/',
    '/strip/x',
    '/strip/x?a=1',
    '/strip/a%20b',
    '/strip/a%2Fb',
    '/strip//x',
    '/strip/../strip/x',
    '/strip/%E4?x',
    '/strip',
  ],
  ...[
    '/strip/a%3Fb',
    '/strip/a%23b',
    '/strip/a%25b',
    '/strip/a+b',
    '/strip/%22%3C%3E%5C%5E%60%7B%7C%7D',
    '/strip/%7E%21%24%26%27%28%29%2A',
  ],
  ...[
    '/replace/x',
    '/replace/',
    '/no-slash',
    '/no-slash/x',
    '/no-slashx',
    '/with-slash/x',
    '/with-slash/',
    '/fixed-args/y',
    '/fixed-args/y?a=1',
  ],
  ...['/exact', '/exact?a=1', '/exact/', '/re/x', '/re/a%20b?c', '/re-var/x?a=1', '/re-var/x', '/var/x?a=1', '/var/a%20b'],
  ...[
    '/var-uri/x',
    '/var-uri/x?a=1',
    '/group/x',
    '/group-plain/x',
    '/rewritten/x?a=1',
    '/rewritten/a%20b',
    '/rewritten-uri/x?a=1',
  ],
  ...[
    '/rewritten-last/x',
    '/rewritten-args/x?a=1',
    '/rewritten-args/a%20b',
    '/headers/x?a=1',
    '/host-fixed/x',
    '/host-http/x',
    '/host-proxy/x',
  ],
  ...[
    '/v11/x',
    '/hide/x',
    '/added/x',
    '/added/x?status=404',
    ...['', '-uri', '-rest', '-group', '-scheme', '-bad', '-none', '-rewritten', '-rewritten-uri'].map(
      (way) => `/backend${way}/a%20b?x=1`,
    ),
    ...[200, 302, 401, 403, 404, 410, 500, 503].flatMap((status) =>
      ['intercepted', 'not-intercepted', 'intercepted-none'].map((way) => `/${way}/x?status=${status}&location=/y`),
    ),
    '/passed-field/x',
    ...[
      'page.html',
      'a.txt',
      'a.css',
      'a.bin',
      'own/page.html',
      'own/a.css',
      'own/a.txt',
      'off/page.html',
      'off/a.css',
      'text',
      'none',
    ].map((name) => `/charset/${name}`),
    ...['?charset=utf-8', '?charset=off'].map((query) => `/charset/variable/page.html${query}`),
    ...['text/html', 'text/plain;%20charset=latin1', 'application/pdf', 'text/css'].map(
      (type) => `/charset/proxied?type=${type}`,
    ),
    ...['page.html', 'a.txt', 'a.bin', 'none'].map((name) => `/sent/${name}`),
    '/backend-redirect/x?status=302&location=http://inner.test/y',
    '/redirect/x?status=302&location=http://elsewhere.test/y',
    '/redirect/x?status=201',
  ],
  ...[
    '/redirect/x?status=301&location=/root',
    '/redirect-off/x?status=302&location=/root',
    '/redirect-own/x?status=302&location=http://inner.test/y',
  ],
  ...['', '?to=whole', '?to=query'].flatMap((query) => ['/place/x', '/place-uri/x', '/re-place/x'].map((path) => path + query)),
  ...[
    '/kept/err.html',
    '/kept/err.html?x',
    '/kept/none&type=application/pdf',
    '/kept/x/../err.html',
    '/kept/%2e%2e/kept/err.html',
    '@echo',
    '/none',
  ].map((path) => `/strip/x?accel=${path.replaceAll('%', '%25')}`),
  ...['/sl%20ash', '/sl%20ash?a=%20', '/socket/x', '/usual-port/x', '/own-port/x'],
  ...[
    '/redirect/x?status=303&location=relative',
    '/intercept/x?status=404',
    '/x?status=500',
    '/x?status=204',
    '/x?status=304',
    '/x?type=text/css',
  ],
  ...[
    '/down/x',
    '/down-own/x',
    '/down-named/x?a=1',
    '/down-plain/x',
    '/try/err.html',
    '/try/x?y=1',
    '/try-same/x?y',
    '/page-proxied/x?y=1',
  ],
  ...['/page-proxied-uri/x?y=1', '/unbuffered/x', '/denied/x', '/internal-only/x'],
  ...[
    '/random/x',
    '/two/x',
    '/tries/x',
    '/more-tries/x',
    '/by-name/a%20b?x=1',
    '/by-name-uri/x',
    '/no-name/x',
    '/no-address/x',
    '/known-name/x',
  ],
  ...Array.from({ length: 24 }, (_, key) => [`/hashed/?k=key${key}`, `/ring/?k=key${key}`]).flat(),
].map((target) => ({ target }))

/** Targets of an upstream that sets a cookie. */
const cookies = [
  'one=1; Domain=inner.test; Path=/app/x',
  'one=1; domain=.INNER.test; path=/old/x; Secure;HttpOnly ; SameSite=Lax',
  'two=2; Domain=a.inner.test; Path=/Old/y/z; SameSite=None; Secure; HttpOnly; Max-Age=5',
  'three; Domain=inner.test',
  'four=4=5; Domain=other.test; Path=/x/app/; Expires=Thu, 01 Jan 1970 00:00:00 GMT',
  'ONE = 1 ;  Path = /app/ ; Domain',
  'five=5; Domain=from.test; Path=/under/x',
].map((cookie) => encodeURIComponent(cookie))

const sent: Case[] = [
  ...cookies.flatMap((cookie) =>
    ['', '&from=from.test', '&flagged=five&flag=secure', '&flagged=five&flag=samesite=none', '&flagged=five&flag=nothing'].map(
      (more) => ({
        target: `/cookies/a?cookie=${cookie}${more}`,
      }),
    ),
  ),
  ...cookies.slice(0, 2).map((cookie) => ({ target: `/cookies/off/a?cookie=${cookie}&cookie=${cookies[2]}` })),
  ...['/method/x', '/method-var/x?m=PUT', '/method-var/x?m=HEAD', '/set-body/x?a=1', '/no-body/x', '/no-fields/x'].flatMap(
    (target) => [
      { target, headers: { 'X-One': 'one', Cookie: 'a=1' } },
      { target, method: 'POST', body: 'a body', headers: { 'Content-Type': 'text/plain' } },
      { target, method: 'HEAD' },
    ],
  ),
  ...['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'HEAD', 'PROPFIND'].map((method) => ({ target: '/strip/x', method })),
  ...['POST', 'PUT', 'DELETE'].map((method) => ({ target: '/strip/x', method, body: 'a body' })),
  { target: '/strip/x', method: 'POST', headers: { 'Transfer-Encoding': 'chunked' }, body: '3\r\nabc\r\n0\r\n\r\n' },
  {
    target: '/headers/x',
    headers: { 'X-Forwarded-For': '10.1.1.1', 'User-Agent': 'me', 'X-Empty': 'sent', 'X-Other': 'passed' },
  },
  { target: '/headers/x', headers: { 'X-One': '1', 'X-Two': 'a, b', Accept: '*/*', Cookie: 'a=1; b=2' }, from: '127.0.0.9' },
  { target: '/strip/x', headers: { TE: 'trailers', 'X-Kept': 'yes' } },
  {
    target: '/strip/x',
    headers: { 'Accept-Encoding': 'identity', Authorization: 'Basic abc', 'If-None-Match': '"x"', Range: 'bytes=0-1' },
  },
  { target: '/page-proxied/x', method: 'POST', body: 'x' },
  {
    target: '/page-proxied-uri/x',
    method: 'POST',
    body: 'x',
  },
  { target: '/host-twice/x', differs: { body: 'nginx sends both Host fields, which servers may reject' } },
  { target: '/down/x', method: 'POST', body: 'x' },
  {
    target: '/re-var/a%20b',
    differs: {
      status: 'nginx sends the space as it is, and the upstream refuses it',
      page: 'the same',
      added: 'the same',
      type: 'the same',
      'cache-control': 'the same',
    },
  },
  { target: '/lost/x', method: 'POST', body: 'sent twice' },
  { target: '/lost/x', method: 'PUT', headers: { 'Transfer-Encoding': 'chunked' }, body: '3\r\nabc\r\n0\r\n\r\n' },
  { target: '/lost/x' },
  { target: '/limited/x', method: 'POST', body: '123456' },
  { target: '/limited/x', method: 'POST', body: '12345' },
  { target: '/host-http/x', host: 'A.test:81' },
  { target: '/headers/x', host: 'A.test:81' },
]

test('requests reach upstreams, and answers clients, as with nginx', async (t) => {
  const dns = await startDns(t, { 'up.test': ['127.0.0.1'], 'empty.test': [] })
  const servers = await Differential.start(t, { conf: confWith(dns.address), files })
  await servers?.compare(t, [...targets, ...sent])
})
