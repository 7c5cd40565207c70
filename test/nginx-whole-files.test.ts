// Files as they are found on machines: a proxy farm, a PHP application, a cache, a site behind a load balancer.
import { test } from 'node:test'
import { requireProgram, startPhpFpm } from '@svc/testkit'
import { type Case, Differential } from './nginx/differential.ts'

/** Every path with every host and every set of fields. */
function crossed(
  hosts: readonly string[],
  targets: readonly string[],
  fields: readonly Readonly<Record<string, string>>[],
  more: Partial<Case> = {},
): Case[] {
  return hosts.flatMap((host) => targets.flatMap((target) => fields.map((headers) => ({ ...more, host, target, headers }))))
}

const farm = `
map $http_upgrade $connection_upgrade { default upgrade; '' close; }
map $http_user_agent $is_bot { default 0; ~*(bot|crawl|spider) 1; }
map $host $backend { hostnames; default main; api.example.test api; *.beta.example.test beta; ~^v\\d+\\.example\\.test$ versions; }
map $request_method:$uri $is_blocked { default 0; ~^DELETE: 1; ~^POST:/read-only/ 1; }
upstream main { server {echo}; keepalive 8; }
upstream api { server {echo2}; }
upstream beta { server unix:{socket}; }
upstream versions { server {echo}; server {echo2} backup; }
proxy_http_version 1.1;
proxy_set_header Host $host;
proxy_set_header X-Real-IP $remote_addr;
proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
proxy_set_header X-Forwarded-Proto $scheme;
server { listen {on0} default_server; server_name _; return 444; }
server { listen {on0}; server_name www.example.test; return 301 $scheme://example.test$request_uri; }
server {
  listen {on0};
  server_name example.test api.example.test *.beta.example.test ~^v(?<version>\\d+)\\.example\\.test$;
  client_max_body_size 1k;
  set $cached "no";
  if ($is_blocked) { return 405; }
  if ($is_bot) { set $cached "bot"; }
  if ($args ~* "(^|&)debug=") { set $cached "$cached-debug"; }
  add_header X-Cached $cached always;
  add_header X-Frame-Options SAMEORIGIN;
  error_page 404 /errors/404.html;
  error_page 500 502 503 504 @down;
  location / { proxy_pass http://$backend; }
  location /versioned/ {
    proxy_set_header Host $host;
    proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
    proxy_set_header X-Version $version;
    proxy_pass http://$backend;
  }
  location /ws/ { proxy_pass http://$backend/socket/; proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection $connection_upgrade;
    proxy_set_header X-Forwarded-For $remote_addr; }
  location ~ ^/(?<tenant>[a-z]+)/files/(.*)$ { proxy_pass http://$backend/t/$tenant?path=$2; proxy_set_header X-Tenant $tenant; proxy_set_header X-Forwarded-For $remote_addr; }
  location ~* \\.(?:png|css|js)$ { root {dir}; expires 30d; add_header Cache-Control public; try_files $uri @app; access_log off; }
  location @app { proxy_pass http://main; proxy_intercept_errors on; }
  location @down { default_type application/json; return 503 '{"error":"down","path":"$uri"}'; }
  location ^~ /errors/ { internal; alias {dir}/errors/; }
  location /strict/ { proxy_pass http://main/; proxy_intercept_errors on; proxy_hide_header X-Hidden; proxy_redirect / /strict/; }
  location /dead/ { proxy_pass http://127.0.0.1:1/; }
  location = /robots.txt { return 200 "User-agent: *\\nDisallow: /$cached\\n"; }
}
`

const farmCases: readonly Case[] = [
  ...crossed(
    [
      'example.test',
      'api.example.test',
      'x.beta.example.test',
      'v12.example.test',
      'www.example.test',
      'other.test',
      'EXAMPLE.test',
    ],
    [
      ...[
        '/',
        '/a/b?c=d',
        '/shop/files/a/b.txt',
        '/ws/x?y',
        '/versioned/x',
        '/site.css',
        '/none.css',
        '/strict/x?status=404',
        '/strict/x?location=/there',
      ],
      ...['/dead/x', '/errors/404.html', '/robots.txt', '/read-only/x', '/x?debug=1', '/x?status=502', '/a%20b/%2e%2e/c'],
    ],
    [{}, { 'User-Agent': 'Googlebot/2.1', 'X-Forwarded-For': '192.0.2.1' }],
  ),
  ...crossed(['example.test'], ['/', '/read-only/x', '/shop/files/x'], [{}], { method: 'POST', body: 'sent' }),
  ...crossed(['example.test'], ['/', '/read-only/x'], [{}], { method: 'DELETE' }),
  ...crossed(['example.test'], ['/'], [{}], { method: 'POST', body: 'x'.repeat(2_000) }),
]

test('a farm of proxies answers as with nginx', async (t) => {
  const files = { 'site.css': 'body { color: black }', 'errors/404.html': '<p>not here</p>' }
  const servers = await Differential.start(t, { conf: farm, files })
  await servers?.compare(t, farmCases)
})

const balanced = `
set_real_ip_from 127.0.0.0/8;
set_real_ip_from 10.0.0.0/8;
real_ip_header X-Forwarded-For;
real_ip_recursive on;
map $http_x_forwarded_proto $real_scheme { default $scheme; https https; }
map $remote_addr $is_office { default 0; 203.0.113.7 1; }
geo $country { default none; 192.0.2.0/24 nowhere; 203.0.113.0/24 office; }
server {
  listen {on0};
  server_name shop.test;
  root {dir};
  if ($real_scheme = http) { return 301 https://$host$request_uri; }
  location / { add_header X-Client $remote_addr; add_header X-Country $country; try_files $uri /index.html; }
  location /admin/ {
    allow 203.0.113.0/24;
    deny all;
    proxy_set_header X-Real-IP $remote_addr;
    proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
    proxy_set_header X-Forwarded-Proto $real_scheme;
    proxy_pass http://{echo};
  }
  location /office { if ($is_office = 0) { return 403 "not for $remote_addr"; } return 200 "office, by $realip_remote_addr"; }
  location /either/ { satisfy any; allow 203.0.113.7; deny all; auth_basic "Shop"; auth_basic_user_file {dir}/users; alias {dir}/; }
  location /healthz { access_log off; return 200 "ok\\n"; }
}
`

const balancedCases = crossed(
  ['shop.test'],
  ['/', '/index.html', '/missing', '/admin/x', '/office', '/either/index.html', '/healthz', '/x?y=z'],
  [
    {},
    { 'X-Forwarded-Proto': 'https' },
    ...[
      '203.0.113.7',
      '192.0.2.9',
      '203.0.113.7, 10.0.0.5',
      '203.0.113.7, 198.51.100.2',
      '10.0.0.1',
      'garbled',
      '203.0.113.7, garbled',
    ].flatMap((value) => [
      { 'X-Forwarded-Proto': 'https', 'X-Forwarded-For': value },
      {
        'X-Forwarded-Proto': 'https',
        'X-Forwarded-For': value,
        Authorization: `Basic ${Buffer.from('u:secret').toString('base64')}`,
      },
    ]),
  ],
)

test('a site behind a load balancer answers as with nginx', async (t) => {
  const files = { 'index.html': '<p>shop</p>', users: 'u:{PLAIN}secret\n' }
  const servers = await Differential.start(t, { conf: balanced, files })
  await servers?.compare(t, [...balancedCases, ...balancedCases])
})

const cache = `
proxy_cache_path {own}/cache levels=1:2 keys_zone=pages:1m max_size=10m inactive=10m use_temp_path=off;
map $http_cookie $has_session { default 0; ~*session= 1; }
map $request_method $not_read { default 1; GET 0; HEAD 0; }
server {
  listen {on0};
  server_name cached.test;
  proxy_cache pages;
  proxy_cache_key $scheme$host$uri$is_args$args;
  proxy_cache_valid 200 301 10m;
  proxy_cache_valid 404 1m;
  proxy_cache_bypass $has_session $not_read;
  proxy_no_cache $has_session $not_read;
  proxy_cache_use_stale error timeout updating http_500 http_502;
  add_header X-Cache $upstream_cache_status always;
  proxy_ignore_headers Expires;
  location / { proxy_pass http://{echo}; }
  location /private/ { proxy_cache off; proxy_pass http://{echo}; }
  location /assets/ { proxy_pass http://{echo}; proxy_ignore_headers Cache-Control Set-Cookie; proxy_hide_header Set-Cookie; proxy_cache_valid any 5m; expires 1h; }
}
`

const cacheTargets = [
  ...[
    '/',
    '/page?a=1',
    '/page?a=2',
    '/x?status=404',
    '/x?status=301&location=/y',
    '/x?status=500',
    '/no?cache=no-store',
    '/old?cache=max-age=0',
  ],
  ...['/private/x', '/assets/a.css?cache=no-cache', '/assets/b?cookie=a%3Db', '/set?cookie=a%3Db'],
]

/** One round after the other: a response is stored a moment after it was sent. */
const cacheCases = [{}, {}, { headers: { Cookie: 'session=1' } }, {}].flatMap((more) =>
  cacheTargets.map((target): Case => ({ host: 'cached.test', target, ...more })),
)

test('a cache answers as with nginx', async (t) => {
  const servers = await Differential.start(t, { conf: cache })
  await servers?.compare(t, cacheCases)
})

const app = `<?php
header('Content-Type: text/plain');
foreach (['SCRIPT_NAME', 'PATH_INFO', 'QUERY_STRING', 'REQUEST_URI', 'REQUEST_METHOD', 'HTTPS', 'HTTP_PROXY'] as $name) echo $name, '=', $_SERVER[$name] ?? '', "\\n";
if (isset($_GET['status'])) http_response_code((int) $_GET['status']);
if (isset($_GET['to'])) header('Location: ' . $_GET['to']);
`

const php = (address: string) => `
server {
  listen {on0};
  server_name blog.test;
  root {dir};
  index index.php index.html;
  client_max_body_size 64m;
  location = /favicon.ico { log_not_found off; access_log off; }
  location = /robots.txt { allow all; log_not_found off; access_log off; }
  location ~ /\\.(?!well-known) { deny all; }
  location ~* /(?:uploads|files)/.*\\.php$ { deny all; }
  location / { try_files $uri $uri/ /index.php?$args; }
  rewrite /wp-admin$ $scheme://$host$uri/ permanent;
  location ~ [^/]\\.php(/|$) {
    fastcgi_split_path_info ^(.+?\\.php)(/.*)$;
    if (!-f $document_root$fastcgi_script_name) { return 404; }
    fastcgi_param HTTP_PROXY "";
    include /etc/nginx/fastcgi_params;
    fastcgi_param SCRIPT_FILENAME $document_root$fastcgi_script_name;
    fastcgi_param PATH_INFO $fastcgi_path_info;
    fastcgi_index index.php;
    fastcgi_pass ${address};
  }
  location ~* \\.(js|css|png|jpg|jpeg|gif|ico)$ { expires max; log_not_found off; add_header Vary Accept-Encoding; }
  error_page 404 /404.html;
}
`

const phpCases = crossed(
  ['blog.test'],
  [
    ...[
      '/',
      '/2026/post/',
      '/index.php',
      '/index.php/extra/path?x=1',
      '/wp-admin',
      '/wp-admin/',
      '/wp-login.php',
      '/style.css',
      '/none.css',
    ],
    ...[
      '/.git/config',
      '/.well-known/x',
      '/uploads/evil.php',
      '/files/a/b.php',
      '/robots.txt',
      '/favicon.ico',
      '/sub',
      '/sub/',
      '/none.php',
    ],
    ...[
      '/?status=404',
      '/?status=500',
      '/index.php?to=/elsewhere&status=302',
      '/a%2fb/%C3%A9',
      '/index.php%00.css',
      '/STYLE.CSS',
    ],
  ],
  [{}, { Proxy: 'http://evil.test' }],
)

test('a PHP application answers as with nginx', async (t) => {
  const executable = requireProgram(t, 'php-fpm')
  if (executable === undefined || requireProgram(t, 'nginx') === undefined) return
  const { address } = await startPhpFpm(t, executable)
  const files = {
    'index.php': app,
    'wp-admin/index.php': app,
    'uploads/evil.php': app,
    'style.css': 'p {}',
    'robots.txt': 'User-agent: *\n',
    'sub/index.html': 'sub',
    '.git/config': 'secret',
    '.well-known/x': 'known',
    '404.html': 'not here',
  }
  const servers = await Differential.start(t, { conf: php(address), files })
  await servers?.compare(t, [
    ...phpCases,
    ...crossed(['blog.test'], ['/', '/index.php?x'], [{}], { method: 'POST', body: 'a=b' }),
  ])
})
