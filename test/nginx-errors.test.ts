import { createHash } from 'node:crypto'
import test from 'node:test'
import { type Case, Differential } from './nginx/differential.ts'

const sha = (text: string) => createHash('sha1').update(text).digest('base64')
const ssha = (text: string) => {
  const salt = Buffer.from('salt')
  return Buffer.concat([createHash('sha1').update(text).update(salt).digest(), salt]).toString('base64')
}

/** All passwords are "secret"; those of crypt are as `openssl passwd` makes them. */
const passwords = [
  '# users of a test',
  'plain:{PLAIN}secret',
  `sha:{SHA}${sha('secret')}`,
  `ssha:{SSHA}${ssha('secret')}`,
  'apr:$apr1$abcdefgh$h9FWgUz3n9YxylKLlR5SQ/',
  'md5:$1$abcdefgh$cHJi5PXp/ki/ktXzqlk6I1',
  'sha256:$5$saltstring$C3o4O1TC6aRHF4FI.QSZMXtHbaj2gSXr4sUc/3NcUi.',
  'sha512:$6$saltstring$AIsRs/Ee56G/tC8MEHhvReZTfx8u3rXXMl6eYrjCG9ibix19DxoMBLogdTET5Ukw9Sf7eZTITsuk0Ry5qulYz.',
  'bcrypt:$2y$05$fMdfX42zA.UIB6RpED2OjuBbAzr8ZbrygqPTWl4JxHa4sEyKG0xrS',
  `commented:{SHA}${sha('secret')}:a comment`,
  'empty:{PLAIN}',
  'plain:{PLAIN}second entry',
].join('\n')

const files = {
  'index.html': 'root index',
  'a.txt': 'text a',
  'err/404.html': 'page for 404',
  'err/50x.html': 'page for 50x',
  'err/403.html': 'page for 403',
  'err/self.html': 'page',
  'private/x.txt': 'private',
  'sub/index.html': 'sub',
  users: passwords,
}

const conf = `
error_page 418 /err/404.html;
server { listen {on0}; server_name a.test; root {dir};
  error_page 404 /err/404.html;
  error_page 500 502 503 504 /err/50x.html;
  rewrite ^/server-gone$ /elsewhere redirect;
  location / { }
  location /own/ { error_page 404 /a.txt; }
  location /none/ { error_page 410 /a.txt; }
  location /as200/ { error_page 404 =200 /err/404.html; }
  location /as-own/ { error_page 404 = /err/404.html; }
  location /as-text/ { error_page 404 = /text; }
  location /as-teapot/ { error_page 404 =418 /err/404.html; }
  location /as-302/ { error_page 404 =302 /err/404.html; }
  location /as-204/ { error_page 404 =204 /err/404.html; }
  location /to-url/ { error_page 404 http://other.test/missing; }
  location /to-url-301/ { error_page 404 =301 http://other.test/missing; }
  location /to-url-200/ { error_page 404 =200 http://other.test/missing; }
  location /to-named/ { error_page 404 @named; }
  location /to-named-own/ { error_page 404 = @named; }
  location /to-named-200/ { error_page 404 =200 @named; }
  location /to-named-files/ { error_page 404 = @files; }
  location /to-nowhere/ { error_page 404 @missing-page; }
  location @missing-page { root {dir}/nowhere; }
  location /var/ { error_page 404 /err/$arg_code.html; }
  location /args/ { error_page 404 = /text?from=$uri; }
  location /args-fixed/ { error_page 404 = /text?fixed; }
  location /page-missing/ { error_page 404 /gone.html; }
  location /page-fails/ { error_page 404 /fails; }
  location /fails { error_page 500 /a.txt; return 500; }
  location /page-redirects/ { error_page 404 /redirects; }
  location /redirects { return 302 /a.txt; }
  location /several/ { error_page 403 404 405 = /text; }
  location /err405/ { error_page 405 /a.txt; alias {dir}/; }
  location /err405-own/ { error_page 405 =200 /a.txt; alias {dir}/; }
  location /err301/ { error_page 301 = /text; alias {dir}/; }
  location @named { return 200 "named $uri $args $request_method"; }
  location @files { try_files /a.txt =404; }
  location /text { return 200 "text $uri $args $request_uri $request_method"; }
  location /r500 { return 500; }
  location /r502 { return 502; }
  location /r403 { return 403; error_page 403 /err/403.html; }
  location /r404t { return 404 "own text"; }
  location /r418 { return 418; }
  location /internal/ { internal; }
  location = /err/self.html { internal; }
  location /to-internal/ { rewrite ^/to-internal/(.*)$ /internal-target/$1 last; }
  location /internal-target/ { internal; return 200 "inside $uri"; }
  location /to-self/ { error_page 404 /err/self.html; }
  location /internal-page/ { internal; error_page 404 = /text; }
  location /try-internal/ { try_files /none /internal-target/x; }
  location /cycle { error_page 404 = /cycle; return 404; }
  location /cycle-try/ { try_files /none /cycle-try/again; }
  location /cycle-named { try_files /none @cycle; }
  location @cycle { try_files /none @cycle; }
  location /fields/ { add_header X-Plain plain; add_header X-Always a always; expires 1h; error_page 404 /err/404.html; }
  location /fields-200/ { add_header X-Plain plain; error_page 404 =200 /fields-page; }
  location /fields-page { add_header X-Page page; return 200 "page"; }
  location /fields-left/ { add_header X-Left left; error_page 404 = /server-gone; }
  location /carried/ { error_page 302 =404 /none; return 302 /a.txt; }
  location /login/ { auth_basic r; auth_basic_user_file {dir}/users; error_page 401 =302 http://login.test/; }
  location /allow-me/ { allow 127.0.0.1; deny all; alias {dir}/; }
  location /deny-me/ { deny 127.0.0.1; allow all; alias {dir}/; }
  location /deny-all/ { deny all; error_page 403 = /text; }
  location /deny-text { deny all; return 200 "returned before"; }
  location /net/ { allow 127.0.0.0/29; deny all; alias {dir}/; }
  location /net6/ { allow ::1; deny all; alias {dir}/; }
  location /order/ { allow all; deny 127.0.0.1; alias {dir}/; }
  location /auth/ { auth_basic "the realm"; auth_basic_user_file {dir}/users; alias {dir}/; }
  location /auth-var/ { auth_basic "at $host"; auth_basic_user_file {dir}/users; alias {dir}/; }
  location /auth-off/ { auth_basic off; alias {dir}/; }
  location /auth-gone/ { auth_basic r; auth_basic_user_file {dir}/no-such-file; alias {dir}/; }
  location /auth-page/ { auth_basic r; auth_basic_user_file {dir}/users; error_page 401 /err/403.html; alias {dir}/; }
  location /auth-deny/ { auth_basic r; auth_basic_user_file {dir}/users; deny all; alias {dir}/; }
  location /auth-return { auth_basic r; auth_basic_user_file {dir}/users; return 200 "returned before"; }
  location /auth-user { auth_basic r; auth_basic_user_file {dir}/users; try_files /none @user; }
  location @user { return 200 "user $remote_user"; }
  location /small/ { client_max_body_size 10; proxy_pass http://{echo}/; }
  location /small-page/ { client_max_body_size 10; error_page 413 = /text; proxy_pass http://{echo}/; }
  location /small-own/ { client_max_body_size 10; error_page 413 /small/page; proxy_pass http://{echo}/; }
  location /large/ { client_max_body_size 0; proxy_pass http://{echo}/; }
}
`

const paths: Case[] = [
  ...[
    '/gone',
    '/own/x',
    '/none/x',
    '/as200/x',
    '/as-own/x',
    '/as-text/x',
    '/as-text/x?y=1',
    '/as-teapot/x',
    '/as-302/x',
    '/as-204/x',
  ],
  ...[
    '/to-url/x',
    '/to-url-301/x',
    '/to-url-200/x',
    '/to-named/x',
    '/to-named/x?y',
    '/to-named-own/x',
    '/to-named-200/x',
    '/to-named-files/x',
  ],
  ...[
    '/to-nowhere/x',
    '/var/x?code=403',
    '/var/x?code=none',
    '/args/x?y=1',
    '/args-fixed/x?y=1',
    '/page-missing/x',
    '/page-fails/x',
  ],
  ...[
    '/page-redirects/x',
    '/several/x',
    '/err301/sub',
    '/text',
    '/r500',
    '/r502',
    '/r403',
    '/r404t',
    '/r418',
    '/internal/x',
    '/err/self.html',
  ],
  ...[
    '/to-internal/x',
    '/internal-target/x',
    '/to-self/x',
    '/internal-page/x',
    '/try-internal/x',
    '/cycle',
    '/cycle-try/',
    '/cycle-named',
  ],
  ...[
    '/fields/x',
    '/fields-200/x',
    '/fields-left/x',
    '/carried/x',
    '/login/x',
    '/allow-me/a.txt',
    '/allow-me/none',
    '/deny-me/a.txt',
    '/deny-all/x',
    '/deny-text',
  ],
  ...['/net/a.txt', '/net6/a.txt', '/order/a.txt', '/auth-off/a.txt', '/sub', '/err/404.html', '/a.txt/x'],
].map((target) => ({ target }))

const basic = (user: string, password = 'secret', scheme = 'Basic') => ({
  Authorization: `${scheme} ${Buffer.from(`${user}:${password}`).toString('base64')}`,
})

const users: Case[] = [
  { target: '/auth/a.txt' },
  ...['plain', 'sha', 'ssha', 'apr', 'md5', 'sha256', 'sha512', 'bcrypt', 'commented', 'nobody', '#', ''].map((user) => ({
    target: '/auth/a.txt',
    headers: basic(user),
  })),
  ...['plain', 'sha', 'ssha', 'apr', 'md5', 'sha256', 'sha512', 'bcrypt', 'empty'].map((user) => ({
    target: '/auth/a.txt',
    headers: basic(user, 'wrong'),
  })),
  { target: '/auth/a.txt', headers: basic('empty', '') },
  { target: '/auth/a.txt', headers: basic('plain', 'second entry') },
  { target: '/auth/a.txt', headers: basic('plain', 'secret', 'basic') },
  { target: '/auth/a.txt', headers: basic('plain', 'secret', 'Bearer') },
  { target: '/auth/a.txt', headers: { Authorization: 'Basic' } },
  { target: '/auth/a.txt', headers: { Authorization: 'Basic !!!' } },
  { target: '/auth/none', headers: basic('plain') },
  { target: '/auth/sub', headers: basic('plain') },
  { target: '/auth-var/x' },
  { target: '/auth-gone/a.txt', headers: basic('plain') },
  { target: '/auth-gone/a.txt' },
  { target: '/auth-page/a.txt' },
  { target: '/auth-deny/a.txt' },
  { target: '/auth-deny/a.txt', headers: basic('plain') },
  { target: '/auth-return' },
  { target: '/auth-user', headers: basic('plain') },
]

const methods: Case[] = [
  { target: '/gone', method: 'POST', body: 'x' },
  { target: '/as-text/x', method: 'POST', body: 'x' },
  { target: '/as-text/x', method: 'PUT', body: 'x' },
  { target: '/as-text/x', method: 'HEAD' },
  { target: '/to-named-own/x', method: 'PUT', body: 'x' },
  { target: '/err405/a.txt', method: 'PUT' },
  { target: '/err405-own/a.txt', method: 'POST', body: 'x' },
  { target: '/several/a.txt', method: 'PUT' },
  { target: '/gone', method: 'HEAD' },
  { target: '/gone', headers: { 'If-None-Match': '*' } },
  { target: '/gone', headers: { Range: 'bytes=0-1' } },
  { target: '/as200/x', headers: { Range: 'bytes=0-1' } },
  { target: '/small/x', method: 'POST', body: '0123456789' },
  { target: '/small/x', method: 'POST', body: '01234567890', status: 413 },
  { target: '/small-own/x', method: 'POST', body: '01234567890', status: 413 },
  {
    target: '/small/x',
    method: 'POST',
    headers: { 'Transfer-Encoding': 'chunked' },
    body: 'c\r\n012345678901\r\n0\r\n\r\n',
    status: 413,
  },
  { target: '/small-page/x', method: 'POST', body: '01234567890' },
  { target: '/large/x', method: 'POST', body: 'x'.repeat(2_000_000) },
  { target: '/small/none', method: 'GET' },
  { target: '/allow-me/a.txt', from: '127.0.0.9' },
  { target: '/deny-me/a.txt', from: '127.0.0.9' },
  { target: '/net/a.txt', from: '127.0.0.7' },
  { target: '/net/a.txt', from: '127.0.0.8' },
]

test('errors, access and inner redirects are as with nginx', async (t) => {
  const servers = await Differential.start(t, { conf, files, server: 'max_body_bytes = 100000' })
  await servers?.compare(t, [...paths, ...users, ...methods])
})
