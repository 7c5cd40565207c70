// Fields of requests whose names nginx ignores, unless a server takes them.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Case, Differential } from './nginx/differential.ts'
import { ask } from './nginx/raw-answer.ts'

const server = (on: number, text: string) => `server { listen {on${on}}; server_name a.test; ${text}
  location / { proxy_pass http://{echo}; }
  location /set { proxy_set_header X-Real-IP $remote_addr; proxy_pass http://{echo}; }
  location /read { return 200 "$http_user_agent|$http_x_name|$http_x_other_name|$again"; }
  location /if { if ($http_x_key = open) { return 200 open; } return 403; }
}`

const conf = `map $arg_x $again { default "of the map"; }
geo $again { default "of the geo"; }
map $arg_y $twice { default first; }
map $arg_y $twice { default second; }
${server(0, '')}
${server(1, 'underscores_in_headers on;')}
${server(2, 'ignore_invalid_headers off;')}
${server(3, 'underscores_in_headers on; ignore_invalid_headers on;')}
server { listen {on0}; server_name twice.test; root ""; return 200 "$again|$twice"; }
`

const fields: readonly Readonly<Record<string, string>>[] = [
  { X_Name: 'a' },
  { 'X-Name': 'a' },
  { X_Name: 'a', 'X-Name': 'b' },
  { 'X-Other_Name': 'a' },
  { X_Other_Name: 'a' },
  { 'X.Name': 'a' },
  { 'X!Name': 'a', X_Name: 'b' },
  { X_Key: 'open' },
  { 'X-Key': 'open' },
  { 'X.Key': 'open' },
  { User_Agent: 'made up' },
]

const cases: readonly Case[] = [
  ...[0, 1, 2, 3].flatMap((on) =>
    fields.flatMap((headers) => ['/', '/read', '/if', '/set'].map((target) => ({ on, target, headers }))),
  ),
  { host: 'twice.test', target: '/' },
]

test('fields with underscores and other characters are taken as by nginx', async (t) => {
  const servers = await Differential.start(t, { conf, addresses: 4 })
  if (servers === undefined) return
  await servers.compare(t, cases)

  await t.test('a field that an application takes for one of a proxy, or of the location, is dropped', async () => {
    for (const [engine, peer] of servers.placesOf(2).slice(1)) {
      const request =
        'GET /set HTTP/1.1\r\nHost: a.test\r\nX_Real_IP: 1.2.3.4\r\nX_Forwarded_For: 1.2.3.4\r\nX_Free: kept\r\nConnection: close\r\n\r\n'
      const { body } = await ask(peer, request)
      assert.match(body, /x_free: kept/i, engine)
      assert.doesNotMatch(body, /1\.2\.3\.4/, engine)
    }
  })
})
