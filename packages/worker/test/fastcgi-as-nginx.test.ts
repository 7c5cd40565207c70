import assert from 'node:assert/strict'
import { request } from 'node:http'
import { test } from 'node:test'
import { requireProgram, startNginx } from '@svc/testkit'
import { RECORD } from '../../upstream/src/fastcgi/record.ts'
import { paramsOf, record, startWire, type WireConnection } from '../../upstream/test/fastcgi-wire.ts'
import { startProxy } from './proxy-server.ts'

const END = record(RECORD.endRequest, Buffer.alloc(8))
const OUT_END = record(RECORD.stdout, Buffer.alloc(0))
const out = (text: string, requestId = 1) => record(RECORD.stdout, Buffer.from(text, 'latin1'), 0, requestId)
const said = (text: string) => [out(text), OUT_END, END]

/** Answers that a request asks for by name. */
const ANSWERS: Readonly<Record<string, readonly Buffer[]>> = {
  plain: said('Content-Type: text/plain\r\n\r\nok'),
  'bare-lines': said('Content-Type: text/plain\n\nok'),
  'no-type': said('X-A: 1\n\nok'),
  status: said('Status: 404 Not Found\nContent-Type: text/x-own\n\ngone'),
  'status-alone': said('Status: 403\n\n'),
  'status-late': said('X-A: 1\nLocation: /x\nStatus: 200 OK\n\nhere'),
  'status-glued': said('Status: 200OK\n\nok'),
  'status-odd': said('Status: abc\n\nok'),
  'status-empty': said('Status: \n\nok'),
  'status-twice': said('Status: 404\nStatus: 200\n\nok'),
  'to-path': said('Location: /here?x=1\n\n'),
  'to-other': said('Location: http://other.test/a\n\nbody'),
  'to-name': said('Location: name\n\n'),
  'to-permanent': said('Status: 301 Moved\nLocation: /here\n\nmoved'),
  created: said('Status: 201\nLocation: /new\n\nnew'),
  empty: said('Status: 204\n\n'),
  'empty-body': said('Status: 204\nContent-Type: text/plain\n\nno body'),
  unchanged: said('Status: 304\nETag: "a"\n\n'),
  length: said('Content-Type: text/plain\nContent-Length: 2\n\nok'),
  'length-long': said('Content-Type: text/plain\nContent-Length: 2\n\nokay'),
  'length-short': said('Content-Type: text/plain\nContent-Length: 9\n\nok'),
  cookies: said('Set-Cookie: a=1\nSet-Cookie: b=2\nX-A: 1\nX-A: 2\n\nok'),
  accel: said(
    'X-Accel-Expires: 5\nX-Accel-Limit-Rate: 100000\nX-Accel-Buffering: no\nX-Accel-Charset: utf-8\nDate: x\nServer: y\nX-Pad: z\n\nok',
  ),
  inside: said('X-Accel-Redirect: /inside/x?y=z\nContent-Type: text/x-own\nSet-Cookie: a=b\nX-A: 1\n\nunread'),
  outside: said('X-Accel-Redirect: /../../etc/passwd\n\nunread'),
  hop: said('Connection: close\nKeep-Alive: timeout=1\nUpgrade: h2c\nTransfer-Encoding: chunked\nX-A: 1\n\nok'),
  'no-colon': said('X-A 1\n\nok'),
  'http-line': said('HTTP/1.1 200 OK\nX-A: 1\n\nok'),
  'space-name': said('X A: 1\n\nok'),
  folded: said('X-A: 1\n  2\n\nok'),
  'no-head': [OUT_END, END],
  'half-head': said('X-A: 1\n'),
  'bare-body': said('\nok'),
  nothing: [],
  'stderr-only': [record(RECORD.stderr, Buffer.from('oh')), END],
  'stderr-first': [record(RECORD.stderr, Buffer.from('oh')), ...said('X-A: 1\n\nok')],
  'other-request': [out('X-A: 1\n\nok', 2), END],
  version: [Buffer.from([2, 6, 0, 1, 0, 0, 0, 0])],
  type: [record(77, Buffer.from('a')), ...said('X-A: 1\n\nok')],
  refused: [record(RECORD.endRequest, Buffer.from([0, 0, 0, 0, 2, 0, 0, 0]))],
  'no-stdout-end': [out('X-A: 1\n\nok'), END],
  'no-end': [out('X-A: 1\n\nok'), OUT_END],
  cut: [out('X-A: 1\n\nok')],
  'exit-status': [out('X-A: 1\n\nok'), OUT_END, record(RECORD.endRequest, Buffer.from([0, 0, 0, 9, 0, 0, 0, 0]))],
  refresh: said('Refresh: 3; url=/r\n\nok'),
  expires: said('Expires: Thu, 01 Jan 1970 00:00:00 GMT\nCache-Control: no-store\nPragma: no-cache\n\nok'),
}

interface Seen {
  readonly status: number
  readonly fields: Readonly<Record<string, unknown>>
  readonly body: string
  readonly isWhole: boolean
}

/** Fields that differ from one answer to the next, or belong to a connection. */
const OTHER = ['connection', 'keep-alive', 'transfer-encoding', 'content-length', 'date', 'server', 'cache-status']

/** Intended differences, for each response. */
const DIFFERS: Readonly<Record<string, string>> = {
  'status-glued': 'nginx sends a status line that is none',
  'length-short': 'where nothing has been sent yet, it is 502',
  hop: 'Upgrade is of the connection to the application',
  'http-line': 'a head is made of fields',
  cut: 'an answer that did not come to its end is cut',
}

interface Asked {
  readonly target: string
  readonly answer?: string
  readonly method?: string
  readonly headers?: Readonly<Record<string, string | string[]>>
}

function ask(where: { readonly port: number } | { readonly socketPath: string }, asked: Asked): Promise<Seen> {
  const { promise, resolve, reject } = Promise.withResolvers<Seen>()
  const { target: path, method = 'GET', answer = 'params' } = asked
  const headers = { host: 'a.test', 'x-answer': answer, ...asked.headers }
  const sent = request({ ...where, host: '127.0.0.1', path, method, headers, agent: false }, (response) => {
    let body = ''
    response.setEncoding('latin1')
    response.on('data', (data: string) => {
      body += data
    })
    response.on('error', () => undefined)
    response.on('close', () => {
      const fields = Object.entries(response.headers).filter(([name]) => !OTHER.includes(name))
      resolve({ status: response.statusCode ?? 0, fields: Object.fromEntries(fields.sort()), body, isWhole: response.complete })
    })
  })
  sent.on('error', reject)
  sent.end(method === 'POST' ? 'the body' : undefined)
  return promise
}

/** Status alone, where the page of an error is the server's own. */
function comparable({ status, ...rest }: Seen): string {
  const isOwn = status >= 500 || (status >= 400 && rest.fields['content-type'] !== 'text/x-own')
  return isOwn ? `${status}` : JSON.stringify({ status, ...rest })
}

const told = (connection: WireConnection) => {
  const params = [...paramsOf(connection)].filter(([name]) => name !== 'HTTP_CDN_LOOP' && name !== 'HTTP_CONNECTION')
  return said(`Content-Type: text/plain\n\n${JSON.stringify(params.sort())}`)
}

const directives = (address: string) => `
  gzip off; fastcgi_param SCRIPT $uri; fastcgi_param URI $request_uri; fastcgi_param ARGS $args;
  location / { fastcgi_pass ${address}; }
  location /inside/ { internal; fastcgi_pass ${address}; }
  location ~ \\.php(/|$) {
    fastcgi_pass ${address}; fastcgi_index index.php; fastcgi_split_path_info ^(.+?\\.php)(/.*)$;
    fastcgi_param SCRIPT_NAME $fastcgi_script_name; fastcgi_param PATH_INFO $fastcgi_path_info; fastcgi_param URI $request_uri; }
  location /params/ {
    fastcgi_pass ${address}; fastcgi_param UTF8 "ä€"; fastcgi_param SPACE "a b"; fastcgi_param QUOTE "a\\"b"; fastcgi_param EMPTY "";
    fastcgi_param IF_NOT_EMPTY "" if_not_empty; fastcgi_param TWICE 1; fastcgi_param TWICE 2; fastcgi_param HTTP_X_SET fixed;
    fastcgi_param HTTP_X_IF $arg_x if_not_empty; fastcgi_param HTTP_ACCEPT ""; fastcgi_param HTTP_HOST own.test; fastcgi_param TYPE $content_type;
    fastcgi_param USER $remote_user; fastcgi_param CONTENT_LENGTH $content_length; }
`

const ASKED: readonly Asked[] = [
  ...[
    '/x%0a.php',
    '/x%00',
    '/a%2Fb',
    '/a%2F..%2Fb',
    '/%3Cscript%3E',
    '/caf%C3%A9',
    '/%e4',
    '//x//y',
    '/a/../b',
    '/a/./b/',
    '/..%2f',
  ],
  ...['/x?%00', '/x?a=%0d%0ab', '/x??', '/x?', '/x;a=b', '/a+b', '/a"b', "/a'b", '/%25%32%65', '/x%20y'],
  ...[
    '/a.php',
    '/a.php/',
    '/a.php/b/c',
    '/a.php/b.php/c',
    '/a.jpg/b.php',
    '/a.php%0a/b',
    '/a.php/%0ab',
    '/a.php%00/b',
    '/a.php/b%2fc',
  ],
  ...['/dir/.php', '/.php/x', '/a.php/?x=1', '/a.phpx', '/a.php/../b', '/a.PHP'],
  ...['/params/', '/params/?x=1', '/params/a?x='],
].map((target) => ({ target }))

const SENT: readonly Asked[] = [
  { target: '/x', headers: { 'x-empty': '', x_under: '1', 'x.dot': '1', 'x-latin': 'caf\xc3\xa9s' } },
  { target: '/x', headers: { 'x-long': 'y'.repeat(1500), 'x-127': 'z'.repeat(127), 'x-128': 'z'.repeat(128) } },
  { target: '/x', headers: { cookie: 'a=1; b=2', 'content-type': 'text/plain', range: 'bytes=0-1', 'if-none-match': '"a"' } },
  { target: '/x', headers: { te: 'trailers', 'keep-alive': '5', via: '1.1 other' } },
  { target: '/params/', headers: { 'x-set': 'client', 'x-if': 'client', accept: 'text/html', 'content-type': 'text/css' } },
  { target: '/params/?x=1', headers: { 'x-if': 'client', authorization: `Basic ${btoa('joe:a:b')}` } },
  { target: '/params/', headers: { authorization: 'Basic !' } },
  { target: '/params/', headers: { authorization: 'Bearer x' } },
  { target: '/params/', method: 'POST', headers: { 'content-length': '8' } },
  { target: '/x', method: 'DELETE' },
  { target: '/x', method: 'PROPFIND' },
]

test('FastCGI applications get the parameters that nginx sends, and their responses are treated as by nginx', async (t) => {
  const executable = requireProgram(t, 'nginx')
  if (executable === undefined) return
  const app = await startWire(t, (connection) => {
    const params = paramsOf(connection)
    const name = params.get('SCRIPT')?.startsWith('/inside/') ? 'plain' : (params.get('HTTP_X_ANSWER') ?? 'plain')
    for (const step of ANSWERS[name] ?? told(connection)) connection.send(step)
    // As it was told.
    connection.socket.end()
  })
  const nginx = await startNginx(t, executable, `server_name a.test; ${directives(app.address)}`)
  const own = await startProxy(t, directives(app.address))
  const differences: string[] = []
  const all = [
    ...Object.keys(ANSWERS).flatMap((answer) => ['GET', 'HEAD'].map((method) => ({ target: '/x', answer, method }))),
    ...ASKED,
    ...SENT,
  ]
  for (const asked of all) {
    if ('answer' in asked && asked.answer in DIFFERS) continue
    const theirs = await ask({ socketPath: nginx.socket }, asked).then(comparable, String)
    const ours = await ask({ port: own.port }, asked).then(comparable, String)
    if (ours !== theirs) differences.push(`${JSON.stringify(asked)}\n  svc   ${ours}\n  nginx ${theirs}`)
  }
  assert.deepEqual(differences, [], differences.join('\n'))
})
