import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import { waitFor } from '@svc/testkit'
import { type Case, Differential } from './nginx/differential.ts'

const conf = `
log_format all '$remote_addr|$remote_user|$request|$status|$request_method|$uri|$args|$is_args|$request_uri|$host|$scheme|$https|'
  '$server_name|$server_protocol|$http_referer|$http_user_agent|$http_x_none|$cookie_a|$arg_a|$content_type|$content_length|'
  '$request_length|$request_completion|$sent_http_x_added|$sent_http_location|$proxy_host|$part|$kind|$limit_rate|$nope';
log_format sizes '$request $status $body_bytes_sent';
log_format j escape=json '{"uri":"$uri","agent":"$http_user_agent","none":"$http_x_none","status":$status}';
log_format raw escape=none '$uri $http_user_agent $http_x_none';
log_format words "two words	tab" ' "$request"';
log_format of_tls '$ssl_protocol $ssl_cipher $ssl_client_verify $ssl_early_data';
log_format of_times '[$time_local] $time_iso8601 $msec $request_time $pid';
log_format of_upstreams '$request|$upstream_addr|$upstream_status|$upstream_response_length|$upstream_cache_status|$upstream_http_x_upstream|$upstream_http_none|$upstream_cookie_none';
log_format of_bodies '$request $request_body';
log_format of_upstream_times '$upstream_connect_time $upstream_header_time $upstream_response_time';
upstream pair { server 127.0.0.1:1; server {echo}; }
map $status $is_error { default 0; ~^[45] 1; }
map $http_x_quiet $is_loud { default 1; yes 0; }
map $arg_a $kind { default "";  1 one; }
server { listen {on0}; server_name a.test; root {dir};
  set $nope ""; access_log {own}/all.log all; access_log {own}/sizes.log sizes;
  location / { add_header X-Added "$status $request_method" always; }
  location /times { access_log {own}/times.log of_times buffer=32k flush=1s; return 200 "x"; }
  location /json { access_log {own}/$server_name.json j; return 200 "x"; }
  location /raw { access_log {own}/raw.log raw; return 200 "x"; }
  location /words { access_log {own}/words.log words; return 200 "x"; }
  location /errors { access_log {own}/errors.log sizes if=$is_error; location /errors/bad { return 500 "bad"; } }
  location /loud { access_log {own}/loud.log sizes if=$is_loud; }
  location /tls { access_log {own}/tls.log of_tls; return 200 "x"; }
  location /off { access_log off; return 200 "x"; }
  location /moved { return 301 /to?x; }
  location ~ ^/captured/(?<part>.+)$ { return 200 "$part"; }
  location /proxied/ { proxy_pass http://{echo}/; }
  location /tried/ { access_log {own}/upstreams.log of_upstreams; add_header X-Tried "$upstream_status $upstream_addr";
    location /tried/one/ { proxy_pass http://{echo}/; access_log {own}/upstream-times.log of_upstream_times; access_log {own}/upstreams.log of_upstreams; }
    location /tried/two/ { proxy_pass http://pair/; }
    location /tried/none/ { proxy_pass http://127.0.0.1:1/; }
    location /tried/other/ { proxy_pass http://127.0.0.1:1/; error_page 502 = @other; }
    location /tried/file { alias {dir}/a.txt; } }
  location @other { access_log {own}/upstreams.log of_upstreams; proxy_pass http://{echo}; }
  location /body/ { access_log {own}/bodies.log of_bodies; proxy_pass http://{echo}/; }
  location /body/none { access_log {own}/bodies.log of_bodies; return 200 "x"; }
  location /page { error_page 404 /shown.html; }
  location /closed { return 444; }
  location /volatile { set $mode $changing; set $seen "$http_x_seen"; return 200 "$mode$seen"; }
}
map $uri $changing { volatile; default changed; }
`

const agent = { 'User-Agent': 'agent "quoted" \\ back' }

const cases: Case[] = [
  // Further requests for the same are answered from L0 here, once the first have been seen.
  ...[1, 2, 3, 4].flatMap((round): Case[] => [
    { target: '/a.txt', headers: { ...agent, 'X-Round': `${round}` } },
    { target: `/a.txt?a=1&b=2`, headers: { Referer: 'http://b.test/c?d' } },
    { target: '/loud/a.txt' },
    { target: '/loud/a.txt', headers: { 'X-Quiet': 'yes' } },
    { target: '/errors/none.txt' },
    { target: '/errors/a.txt' },
  ]),
  { target: '/a.txt', method: 'HEAD' },
  { target: '/a.txt', headers: { Range: 'bytes=1-2' } },
  { target: '/a.txt', headers: { Cookie: 'b=2; a=1' } },
  { target: '/a.txt', headers: { Authorization: 'Basic dXNlcjpwYXNz' } },
  { target: '/', host: 'other.test' },
  { target: '/none' },
  { target: '/captured/x%20y' },
  { target: '/moved' },
  { target: '/page/none' },
  { target: '/proxied/x', method: 'POST', body: 'a=b', headers: { 'Content-Type': 'text/x' } },
  { target: '/json/x%22y%0a', headers: { 'User-Agent': 'a"b\\c\xc3\xa9 z' } },
  { target: '/raw/x%22y', headers: agent },
  { target: '/words' },
  { target: '/errors/bad' },
  { target: '/tls' },
  { target: '/off' },
  { target: '/volatile' },
  { target: '/body/x', method: 'POST', body: 'a="1"\n&b=\xe9' },
  { target: '/body/y', method: 'POST', body: 'x'.repeat(20_000) },
  { target: '/body/z' },
  { target: '/body/none', method: 'POST', body: 'unread' },
  ...['one/', 'two/', 'none/', 'other/', 'file', 'file', 'file'].map((path): Case => ({ target: `/tried/${path}` })),
]

/** Lines that all servers must have written alike. */
const FILES = [
  'all.log',
  'sizes.log',
  'a.test.json',
  'raw.log',
  'words.log',
  'errors.log',
  'loud.log',
  'tls.log',
  'upstreams.log',
]

test('logs of vhost files have the lines of nginx', async (t) => {
  const servers = await Differential.start(t, {
    conf,
    files: { 'a.txt': 'file a', 'loud/a.txt': 'loud', 'errors/a.txt': 'fine', 'shown.html': 'shown', 'index.html': 'index' },
  })
  if (servers === undefined) return
  await servers.compare(t, [...cases, { target: '/times' }])
  const linesOf = (server: string, file: string): string[] => {
    const path = join(servers.dir, '..', server, file)
    return existsSync(path) ? readFileSync(path, 'utf8').split('\n').slice(0, -1) : []
  }
  const times = /^(?:\d\.\d{3} ?){3}$/
  const counted = (line: string) =>
    line.replace(/(?<=\/(?:none|bad|moved|page\/none|errors\/none\.txt) HTTP\/1\.1 \d{3} )\d+$/, 'page')
  for (const engine of ['uws', 'node']) {
    for (const file of FILES) {
      await waitFor(`${file} of nginx`, () => linesOf('nginx', file).length > 0)
      const lines = linesOf('nginx', file).map(counted)
      await waitFor(`${file} of ${engine}`, () => linesOf(engine, file).length >= lines.length)
      await t.test(`${file} of engine ${engine}`, () => assert.deepEqual(linesOf(engine, file).map(counted), lines))
    }
    await t.test(`times of engine ${engine}`, async () => {
      // nginx writes what it has buffered after a second.
      await waitFor('times.log of nginx', () => linesOf('nginx', 'times.log').length > 0)
      const pattern =
        /^\[(\d\d\/\w{3}\/\d{4}:\d\d:\d\d:\d\d [+-]\d{4})\] \d{4}-\d\d-\d\dT[\d:]{8}[+-]\d\d:\d\d \d{10}\.\d{3} \d+\.\d{3} \d+$/
      for (const server of ['nginx', engine]) assert.match(linesOf(server, 'times.log').join('\n'), pattern)
      for (const server of ['nginx', engine]) assert.match(linesOf(server, 'upstream-times.log').join('\n'), times)
    })
  }
})
