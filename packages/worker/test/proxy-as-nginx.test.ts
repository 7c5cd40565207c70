import assert from 'node:assert/strict'
import { request } from 'node:http'
import { test } from 'node:test'
import { requireProgram, startNginx } from '@svc/testkit'
import { startRaw } from '../../upstream/test/raw-upstream.ts'
import { startProxy } from './proxy-server.ts'

/** Answers that a request asks for by name. */
const ANSWERS: Readonly<Record<string, string>> = {
  plain: '200 OK\r\nContent-Length: 2\r\n\r\nok',
  typed:
    '200 OK\r\nContent-Type: text/css\r\nX-A: 1\r\nX-A: 2\r\nSet-Cookie: a=b\r\nSet-Cookie: c=d\r\nContent-Length: 2\r\n\r\nok',
  hidden:
    '200 OK\r\nDate: x\r\nServer: y\r\nX-Pad: z\r\nX-Secret: s\r\nX-Accel-Expires: 0\r\nX-Kept: k\r\nContent-Length: 0\r\n\r\n',
  validated:
    '200 OK\r\nETag: "a"\r\nLast-Modified: Tue, 14 Nov 2023 22:13:20 GMT\r\nCache-Control: max-age=5\r\nContent-Length: 1\r\n\r\nx',
  gone: '404 Not Found\r\nContent-Type: text/plain\r\nContent-Length: 4\r\n\r\ngone',
  broken: '500 Oh\r\nContent-Length: 3\r\n\r\nbad',
  empty: '204 No Content\r\n\r\n',
  unchanged: '304 Not Modified\r\nETag: "a"\r\n\r\n',
  inside: '200 OK\r\nX-Accel-Redirect: /inside/x?y=z\r\nContent-Type: text/x-own\r\nContent-Length: 5\r\n\r\nunread',
  outside: '200 OK\r\nX-Accel-Redirect: /../../etc/passwd\r\nContent-Length: 5\r\n\r\nunread',
  'to-root': '302 Found\r\nLocation: http://UP/a?b=c\r\nContent-Length: 0\r\n\r\n',
  'to-base': '302 Found\r\nLocation: http://UP/base/a\r\nContent-Length: 0\r\n\r\n',
  'to-other': '301 Moved\r\nLocation: http://other.test/deep/er\r\nContent-Length: 0\r\n\r\n',
  'to-path': '302 Found\r\nLocation: /here\r\nContent-Length: 0\r\n\r\n',
  'to-name': '302 Found\r\nLocation: name\r\nContent-Length: 0\r\n\r\n',
  created: '201 Created\r\nLocation: http://UP/base/new\r\nContent-Length: 0\r\n\r\n',
  refreshed: '200 OK\r\nRefresh: 3; url=http://UP/base/r\r\nContent-Length: 0\r\n\r\n',
}

const directives = (up: string) => `
  location /plain/ { proxy_pass http://${up}; }
  location /uri/ { proxy_pass http://${up}/base/; }
  location /bare { proxy_pass http://${up}/base; }
  location = /exact { proxy_pass http://${up}/other; }
  location /root/ { proxy_pass http://${up}/; }
  location ~ ^/re/(.*)$ { proxy_pass http://${up}; }
  location ~ ^/cap/(.*)$ { proxy_pass http://${up}/x/$1; }
  location /rw/ { rewrite ^/rw/(.*)$ /new/$1 break; proxy_pass http://${up}/ignored/; }
  location /rwplain/ { rewrite ^/rwplain/(.*)$ /new/$1 break; proxy_pass http://${up}; }
  location /rwlast/ { rewrite ^/rwlast/(.*)$ /uri/$1 last; }
  location /rwargs/ { rewrite ^/rwargs/(.*)$ /plain/$1?added=1 last; }
  location /rwnoargs/ { rewrite ^/rwnoargs/(.*)$ /plain/$1?only=1? last; }
  location /asked/ { proxy_pass http://${up}$request_uri; }
  location /to/ { proxy_pass http://$arg_to; }
  location /to-uri/ { proxy_pass http://$arg_to/in$uri; }
  location /group/ { proxy_pass http://grouped/in/; }
  location /fields/ {
    proxy_pass http://${up}; proxy_set_header Host $host; proxy_set_header X-Empty ""; proxy_set_header X-Fixed "a b";
    proxy_set_header Accept-Encoding ""; proxy_set_header X-Arg $arg_q; proxy_set_header X-Proxy $proxy_host;
    proxy_set_header User-Agent "own"; proxy_set_header X-Uri $uri; }
  location /own-host/ { proxy_pass http://${up}/; proxy_set_header Host own.test:1234; }
  location /hide/ { proxy_pass http://${up}; proxy_hide_header X-Secret; }
  location /redirect-off/ { proxy_pass http://${up}/base/; proxy_redirect off; }
  location /redirect-to/ { proxy_pass http://${up}/base/; proxy_redirect http://other.test/ /there/; }
  location /redirect-both/ { proxy_pass http://${up}/base/; proxy_redirect default; proxy_redirect http://other.test/ http://new.test/; }
  location /redirect-by/ { proxy_pass http://${up}/base/; proxy_redirect ~^http://([^/]+)/(.*)$ /by/$1/$2; }
  location /unread/ { proxy_pass http://${up}; proxy_ignore_headers X-Accel-Redirect Cache-Control; }
  location /inside/ { internal; proxy_pass http://${up}/found/; }
  location /named/ { error_page 404 = @fallback; proxy_pass http://dead; }
  location @fallback { proxy_pass http://${up}; }
  location /dead/ { proxy_pass http://dead; error_page 502 =503 /plain/error; }
  location /added/ { proxy_pass http://${up}; add_header X-Own own; add_header X-Always always always; expires 1h; }
`

/** Path, and the answer asked for. */
const CASES: readonly (readonly [target: string, answer: string, method?: string])[] = [
  ...[
    '/plain/',
    '/plain/a%20b?x=%20y',
    '/plain//x/../y',
    '/plain/a%2Fb',
    '/plain/?',
    '/plain/caf%C3%A9',
    '/plain/a"b<c>',
    '/plain/x;y=1,2',
  ].map((target) => [target, 'plain'] as const),
  ...[
    '/uri/',
    '/uri/a',
    '/uri/a%20b%2Fc?q=%20',
    '/uri/%3Fq',
    '/uri/caf%C3%A9',
    '/uri/a"b',
    '/uri/%22',
    '/uri//x//y',
    '/uri/a+b',
    '/uri/%2B',
  ].map((target) => [target, 'plain'] as const),
  ...['/uri/a/../b', '/uri/%7e', '/uri/%25', '/uri/%23', '/uri/?only=args', '/uri/x?a=b?c', '/uri/a%7Cb', '/uri/a|b'].map(
    (target) => [target, 'plain'] as const,
  ),
  ...['/bare', '/bare/a', '/barely', '/bare?x=1', '/exact', '/exact?x=1', '/root/', '/root/a/b?c', '/re/x%20y?z', '/re/'].map(
    (target) => [target, 'plain'] as const,
  ),
  ...[
    '/cap/abc',
    '/cap/a?b=c',
    '/rw/a',
    '/rw/a%20b?c=d',
    '/rwplain/a%20b?c',
    '/rwlast/a%20b?c=d',
    '/rwargs/a?b=c',
    '/rwnoargs/a?b=c',
  ].map((target) => [target, 'plain'] as const),
  ...['/asked/a%20b?c=d', '/group/a?b', '/fields/a%20b?q=v', '/fields/', '/own-host/x', '/hide/x', '/added/x'].map(
    (target) => [target, 'plain'] as const,
  ),
  ...['typed', 'hidden', 'validated', 'gone', 'broken', 'empty', 'unchanged', 'inside', 'outside'].map(
    (answer) => ['/plain/x', answer] as const,
  ),
  ...['typed', 'hidden', 'gone', 'empty', 'unchanged'].map((answer) => ['/added/x', answer] as const),
  ...['typed', 'validated', 'gone', 'empty', 'unchanged'].map((answer) => ['/plain/x', answer, 'HEAD'] as const),
  ...['typed', 'gone', 'empty'].map((answer) => ['/plain/x', answer, 'POST'] as const),
  ['/plain/x', 'plain', 'PUT'],
  ['/plain/x', 'plain', 'DELETE'],
  ['/plain/x', 'plain', 'OPTIONS'],
  ['/plain/x', 'plain', 'PROPFIND'],
  ['/hide/x', 'hidden'],
  ['/unread/x', 'inside'],
  ['/unread/x', 'validated'],
  ...[
    '/plain/',
    '/uri/',
    '/root/',
    '/bare/',
    '/re/',
    '/group/',
    '/redirect-off/',
    '/redirect-to/',
    '/redirect-both/',
    '/redirect-by/',
  ].flatMap((place) =>
    ['to-root', 'to-base', 'to-other', 'to-path', 'to-name', 'created', 'refreshed'].map(
      (answer) => [`${place}x`, answer] as const,
    ),
  ),
  ...['/to/a%20b?to=UP', '/to/x?to=grouped&more=1', '/to-uri/a?to=UP', '/to/x?to=', '/to/x?to=no.such.name'].map(
    (target) => [target, 'plain'] as const,
  ),
  ['/to/x?to=UP', 'to-root'],
  ['/named/x', 'plain'],
  ['/dead/x', 'plain'],
  ['/inside/x', 'plain'],
]

/** Parts of a response that are compared. */
const COMPARED = [
  'location',
  'refresh',
  'content-type',
  'content-length',
  'etag',
  'last-modified',
  'cache-control',
  'x-a',
  'x-own',
  'x-always',
  'x-secret',
  'x-pad',
  'x-kept',
  'x-accel-expires',
  'x-accel-redirect',
  'set-cookie',
]

interface Seen {
  readonly status: number
  readonly fields: Readonly<Record<string, unknown>>
  readonly body: string
}

type Where = { readonly port: number } | { readonly socketPath: string }

function ask(where: Where, [target, answer, method = 'GET']: (typeof CASES)[number], tag: string): Promise<Seen> {
  const { promise, resolve, reject } = Promise.withResolvers<Seen>()
  const headers = {
    host: 'a.test',
    'x-answer': answer,
    'x-tag': tag,
    'x-empty': 'not',
    'accept-language': 'de',
    'user-agent': 'test',
    te: 'trailers',
  }
  const body = method === 'POST' || method === 'PUT' ? 'the body' : undefined
  const length = body === undefined ? {} : { 'content-length': String(body.length) }
  const asked = request(
    { ...where, host: '127.0.0.1', path: target, method, headers: { ...headers, ...length }, agent: false },
    (response) => {
      let text = ''
      response.setEncoding('latin1')
      response.on('data', (data: string) => {
        text += data
      })
      response.on('end', () => {
        const fields = Object.fromEntries(COMPARED.map((name) => [name, response.headers[name]]))
        resolve({ status: response.statusCode ?? 0, fields, body: text })
      })
      response.on('error', reject)
    },
  )
  asked.on('error', reject)
  asked.end(body)
  return promise
}

/** The request that an upstream got, in a form that both servers can be compared in. */
function normalized(head: string): { readonly line: string; readonly fields: readonly string[] } {
  const [line = '', ...fields] = head.split('\r\n').filter((text) => text !== '')
  const kept = fields.map((field) => {
    const colon = field.indexOf(':')
    return `${field.slice(0, colon).toLowerCase()}:${field.slice(colon + 1)}`
  })
  const ours = /^(connection|cdn-loop|x-tag|te|content-length: 0$)/
  return { line: line.replace(/ HTTP\/1\.\d$/, ''), fields: kept.filter((field) => !ours.test(field)).sort() }
}

test('the same vhost file proxies as in nginx', async (t) => {
  const executable = requireProgram(t, 'nginx')
  if (executable === undefined) return
  const seen = new Map<string, string[]>()
  let address = ''
  const up = await startRaw(t, (connection, head) => {
    const tag = /x-tag: (\S+)/i.exec(head)?.[1] ?? ''
    seen.set(tag, [...(seen.get(tag) ?? []), head])
    const name = /x-answer: (\S+)/i.exec(head)?.[1] ?? 'plain'
    const isInside = head.startsWith('GET /found/')
    connection.send(`HTTP/1.1 ${ANSWERS[isInside ? 'plain' : name]?.replaceAll('UP', address) ?? ''}`)
  })
  address = up.address
  const outside = `upstream grouped { server ${address}; } upstream dead { server 127.0.0.1:1; }`
  const nginx = await startNginx(
    t,
    executable,
    `server_name a.test; ${directives(address)} } ${outside} server { listen unix:unused.sock;`,
  )
  const own = await startProxy(t, directives(address), { outside })
  const differences: string[] = []
  for (const [index, one] of CASES.entries()) {
    const [target, ...more] = one
    const asked = [target.replace('UP', address), ...more] as const
    const wanted = await ask({ socketPath: nginx.socket }, asked, `n${index}`)
    const got = await ask({ port: own.port }, asked, `s${index}`)
    const say = (what: string, ours: unknown, theirs: unknown) => {
      const [left, right] = [JSON.stringify(ours), JSON.stringify(theirs)]
      if (left !== right) differences.push(`${one.join(' ')}: ${what}\n  svc   ${left}\n  nginx ${right}`)
    }
    const withoutPort = ({ fields }: Seen) => ({
      ...fields,
      location: String(fields.location)
        .replace(`a.test:${own.port}`, 'a.test')
        .replace(/a\.test:0/, 'a.test'),
    })
    say('status', got.status, wanted.status)
    if (wanted.status < 400 || one[1] === 'gone' || one[1] === 'broken') {
      say('fields', withoutPort(got), withoutPort(wanted))
      say('body', got.body, wanted.body)
    }
    say('upstream', (seen.get(`s${index}`) ?? []).map(normalized), (seen.get(`n${index}`) ?? []).map(normalized))
  }
  assert.deepEqual(differences, [], differences.join('\n'))
})
