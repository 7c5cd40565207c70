import test from 'node:test'
import { requireProgram, startPhpFpm } from '@svc/testkit'
import { type Case, Differential } from './nginx/differential.ts'

/** The application's view of a request, without the parts that depend on the connection or the time. */
const echo = `<?php
$seen = [];
$left = ['SERVER_ADDR', 'REMOTE_PORT', 'REQUEST_TIME', 'REQUEST_TIME_FLOAT', 'HTTP_CONNECTION', 'HTTP_CDN_LOOP', 'HOME', 'USER', 'argv', 'argc'];
foreach ($_SERVER as $name => $value) if (!in_array($name, $left)) $seen[$name] = $value;
ksort($seen);
header('X-Script: echo');
header('Content-Type: application/json');
if (isset($_GET['status'])) http_response_code((int) $_GET['status']);
if (isset($_GET['location'])) header('Location: ' . $_GET['location']);
if (isset($_GET['cookies'])) { setcookie('a', '1'); setcookie('b', '2', ['path' => '/']); }
echo json_encode(['server' => $seen, 'body' => file_get_contents('php://input'), 'post' => $_POST], JSON_UNESCAPED_SLASHES);
`

const params = (address: string) => `include /etc/nginx/fastcgi.conf; fastcgi_index index.php; fastcgi_pass ${address};`

const conf = (address: string) => `
server { listen {on0}; server_name a.test www.a.test; root {dir}; index index.php index.html; error_page 502 504 /50x.html;
  location / { try_files $uri $uri/ /index.php?q=$uri&$args; }
  location ~ \\.php$ { ${params(address)} }
  location ~ ^(?<script>/split\\.php)(/|$) { ${params(address)}
    fastcgi_split_path_info ^(.+\\.php)(/.*)$; fastcgi_param PATH_INFO $fastcgi_path_info; fastcgi_param X_SCRIPT $script; }
  location /dir/ { ${params(address)} }
  location ~ ^/snippet/.+\\.php(/|$) { fastcgi_split_path_info ^(.+?\\.php)(/.*)$; try_files $fastcgi_script_name =404;
    set $path_info $fastcgi_path_info; fastcgi_param PATH_INFO $path_info; ${params(address)} }
  location /own/ { fastcgi_pass ${address}; fastcgi_param SCRIPT_FILENAME {dir}/index.php; fastcgi_param REQUEST_METHOD $request_method;
    fastcgi_param QUERY_STRING $query_string; fastcgi_param CONTENT_LENGTH $content_length; fastcgi_param CONTENT_TYPE $content_type;
    fastcgi_param X_EMPTY $arg_none if_not_empty; fastcgi_param X_ARG "$arg_a|$uri"; fastcgi_param SCRIPT_NAME $fastcgi_script_name; }
  location /al/ { alias {dir}/sub/; ${params(address)} fastcgi_param SCRIPT_FILENAME $request_filename; }
  location /rewritten/ { rewrite ^/rewritten/(.*)$ /index.php?from=$1 last; }
  location /fields/ { ${params(address)} fastcgi_param SCRIPT_FILENAME {dir}/index.php; add_header X-Added $uri always; expires 1h; fastcgi_hide_header X-Script; }
  location /errors/ { ${params(address)} fastcgi_param SCRIPT_FILENAME {dir}/index.php; error_page 404 /50x.html; }
  location /down/ { ${params('unix:/nonexistent/php.sock')} }
  location /page/ { error_page 404 = /index.php?page=1; return 404; }
  location /slash/ { ${params(address)} fastcgi_param SCRIPT_FILENAME {dir}/index.php; }
}
`

const files = {
  'index.php': echo,
  'split.php': echo,
  'dir/index.php': echo,
  'snippet/index.php': echo,
  'sub/x.php': echo,
  'a.txt': 'text',
  '50x.html': 'down',
  'sub/index.html': 'sub',
}

const cases: Case[] = [
  ...[
    '/',
    '/?a=1',
    '/index.php',
    '/index.php?a=1&b=%20',
    '/snippet/index.php',
    '/snippet/index.php/a/b?x=1',
    '/snippet/none.php/a',
    '/a.txt',
    '/none',
    '/none?x=1',
    '/none/a%20b',
    '/sub',
    '/sub/',
    '/sub/x.php',
    '/gone.php',
  ],
  ...[
    '/split.php',
    '/split.php/',
    '/split.php/path/info',
    '/split.php/a%20b?x=1',
    '/split.php/%C3%A4',
    '/dir/',
    '/dir',
    '/dir/index.php',
  ],
  ...[
    '/own/x?a=1',
    '/al/x.php',
    '/al/',
    '/rewritten/x%20y?z=1',
    '/fields/x',
    '/fields/x?status=404',
    '/errors/x?status=404',
    '/errors/x?status=500',
  ],
  ...[
    '/down/x',
    '/page/x?y=1',
    '/slash',
    '/slash?x=1',
    '/index.php?status=201',
    '/index.php?location=/elsewhere',
    '/index.php?location=http://other.test/',
  ],
  ...['/index.php?status=301&location=/moved', '/index.php?cookies=1', '/index.php?status=304'],
].map((target) => ({ target }))

const sent: Case[] = [
  { target: '/index.php', method: 'POST', body: 'a=1&b=2', headers: { 'Content-Type': 'application/x-www-form-urlencoded' } },
  { target: '/own/x', method: 'PUT', body: '{"a":1}', headers: { 'Content-Type': 'application/json' } },
  { target: '/index.php', method: 'DELETE' },
  { target: '/index.php', method: 'HEAD' },
  { target: '/index.php', method: 'POST', body: 'x'.repeat(100_000) },
  {
    target: '/index.php',
    headers: { 'X-One': 'one', 'User-Agent': 'me', Cookie: 'a=1; b=2', 'Accept-Language': 'en', Accept: '*/*' },
  },
  { target: '/index.php', headers: { Authorization: `Basic ${Buffer.from('joe:secret').toString('base64')}` } },
  { target: '/index.php', host: 'WWW.a.test:81' },
  { target: '/index.php', from: '127.0.0.9', headers: { X_Under: 'not passed' } },
  {
    target: '/page/x',
    method: 'POST',
    body: 'x',
  },
]

test('applications behind FastCGI see what they see with nginx', async (t) => {
  const executable = requireProgram(t, 'php-fpm')
  if (executable === undefined) return
  const php = await startPhpFpm(t, executable)
  const servers = await Differential.start(t, { conf: conf(php.address), files })
  await servers?.compare(t, [...cases, ...sent])
})
