import test from 'node:test'
import { requireProgram, startUwsgi } from '@svc/testkit'
import { type Case, Differential } from './nginx/differential.ts'

/** The application's view of a request, without the parts that depend on the connection. */
const echo = `
import json
from urllib.parse import parse_qs
LEFT = {'REMOTE_PORT', 'HTTP_CONNECTION', 'HTTP_CDN_LOOP', 'SERVER_PORT'}
def application(environ, start_response):
    query = {name: values[0] for name, values in parse_qs(environ.get('QUERY_STRING', '')).items()}
    body = environ['wsgi.input'].read(int(environ.get('CONTENT_LENGTH') or 0)).decode('latin-1')
    seen = {name: value for name, value in environ.items() if isinstance(value, str) and name not in LEFT and not name.startswith('uwsgi.')}
    text = json.dumps({'seen': seen, 'body': body}, sort_keys=True).encode()
    fields = [('Content-Type', 'application/json'), ('X-Script', 'echo'), ('X-Accel-Expires', '0')]
    if 'location' in query: fields.append(('Location', query['location']))
    if 'length' in query: fields.append(('Content-Length', str(len(text))))
    if 'accel' in query: fields.append(('X-Accel-Redirect', query['accel']))
    if 'cookies' in query: fields += [('Set-Cookie', 'a=1'), ('Set-Cookie', 'b=2')]
    start_response(query.get('status', '200 OK'), fields)
    return [text] * int(query.get('times', '1'))
`

const location = (kind: 'uwsgi' | 'scgi', address: string) => `
  location /${kind}/ { include /etc/nginx/${kind}_params; ${kind}_pass ${address}; }
  location /${kind}-own/ { ${kind}_pass ${address}; ${kind}_param REQUEST_METHOD $request_method; ${kind}_param QUERY_STRING $query_string;
    ${kind}_param CONTENT_LENGTH $content_length; ${kind}_param PATH_INFO $uri; ${kind}_param SERVER_NAME a; ${kind}_param SERVER_PORT 80;
    ${kind}_param SERVER_PROTOCOL HTTP/1.1; ${kind}_param X_EMPTY "$arg_none" if_not_empty; ${kind}_param HTTP_X_ONE "set"; ${kind}_param HTTP_X_TWO "";
    ${kind}_hide_header X-Script; add_header X-Added $uri always; }
  location /${kind}-group/ { include /etc/nginx/${kind}_params; ${kind}_pass ${kind}_group; }
  location /${kind}-var/ { set $to ${address}; include /etc/nginx/${kind}_params; ${kind}_pass $to; }
  location /${kind}-errors/ { include /etc/nginx/${kind}_params; ${kind}_pass ${address}; ${kind}_intercept_errors on; error_page 404 /50x.html; }
  location /${kind}-next/ { include /etc/nginx/${kind}_params; ${kind}_pass ${kind}_failing; ${kind}_next_upstream error http_404; }
  location /${kind}-once/ { include /etc/nginx/${kind}_params; ${kind}_pass ${kind}_failing; ${kind}_next_upstream_tries 1; }
  location /${kind}-down/ { ${kind}_pass unix:/nonexistent/app.sock; }
  location /${kind}-bare/ { include /etc/nginx/${kind}_params; ${kind}_pass ${address}; ${kind}_pass_request_headers off; ${kind}_pass_request_body off; }
  location /${kind}-inner/ { include /etc/nginx/${kind}_params; ${kind}_pass ${address}; ${kind}_ignore_headers X-Accel-Redirect; ${kind}_pass_header X-Accel-Expires; }
`

const conf = (uwsgi: string, scgi: string) => `
upstream uwsgi_group { server ${uwsgi}; }
upstream scgi_group { server ${scgi}; }
upstream uwsgi_failing { server 127.0.0.1:1; server ${uwsgi} backup; }
upstream scgi_failing { server 127.0.0.1:1; server ${scgi} backup; }
server { listen {on0}; server_name a.test; root {dir}; error_page 502 504 /50x.html;
  ${location('uwsgi', uwsgi)} ${location('scgi', scgi)}
  location /prefixed/ { include /etc/nginx/uwsgi_params; uwsgi_pass uwsgi://${uwsgi}; uwsgi_modifier1 0; uwsgi_modifier2 0; }
  location /wrong-modifier/ { include /etc/nginx/uwsgi_params; uwsgi_pass ${uwsgi}; uwsgi_modifier1 31; } }
`

const casesOf = (kind: 'uwsgi' | 'scgi'): Case[] =>
  [
    ...[
      ...['/', '/?a=1', '/a%20b?x=%20', '/a//b/../c', '/?status=404%20Gone', '/?status=500%20Broken', '/?location=/elsewhere'],
      ...['/?status=301%20Moved&location=http://other.test/', '/?status=304%20Same', '/?status=204%20None', '/?cookies=1'],
      ...['/?length=1', '/?times=2000', '/?accel=/50x.html'],
    ].map((rest) => `/${kind}${rest}`),
    ...['-own/x?a=1', '-own/x?status=404%20Gone', '-group/x', '-var/x?y=1', '-errors/x?status=404%20Gone', '-errors/x'].map(
      (rest) => `/${kind}${rest}`,
    ),
    ...['-next/x', '-once/x', '-down/x', '-inner/?accel=/50x.html'].map((rest) => `/${kind}${rest}`),
  ]
    .map((target): Case => ({ target }))
    .concat([
      { target: `/${kind}/x`, method: 'POST', body: 'a=1&b=2', headers: { 'Content-Type': 'application/x-www-form-urlencoded' } },
      { target: `/${kind}-own/x`, method: 'PUT', body: 'x'.repeat(100_000) },
      { target: `/${kind}/x`, method: 'POST', headers: { 'Transfer-Encoding': 'chunked' }, body: '3\r\nabc\r\n0\r\n\r\n' },
      { target: `/${kind}-next/x`, method: 'PUT', body: 'to the second' },
      { target: `/${kind}-bare/x`, headers: { 'X-One': 'one', Cookie: 'a=1' } },
      { target: `/${kind}/x`, method: 'HEAD' },
      { target: `/${kind}/x`, method: 'DELETE' },
      { target: `/${kind}/x`, host: 'A.test:81', headers: { 'X-One': 'one', Cookie: 'a=1; b=2', Accept: '*/*', X_Under: 'no' } },
      { target: `/${kind}-own/x`, headers: { 'X-One': 'client', 'X-Two': 'client' } },
      {
        target: `/${kind}/x`,
        headers: { Proxy: 'http://evil.test' },
        differs: { body: 'an application could take the field for the proxy of its own requests' },
      },
    ])

test('applications behind uwsgi and SCGI see what they see with nginx', async (t) => {
  const executable = requireProgram(t, 'uwsgi')
  if (executable === undefined) return
  const { uwsgi, scgi } = await startUwsgi(t, executable, echo)
  const servers = await Differential.start(t, { conf: conf(uwsgi, scgi), files: { '50x.html': 'down' } })
  await servers?.compare(t, [
    ...casesOf('uwsgi'),
    ...casesOf('scgi'),
    { target: '/prefixed/x?a=1' },
    { target: '/wrong-modifier/x' },
  ])
})
