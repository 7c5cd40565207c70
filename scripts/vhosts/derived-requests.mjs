// Requests for the servers of vhost files, derived from their names and locations.
import { locationsOf } from '../../packages/vhosts/src/index.ts'

/** @typedef {import('../../packages/vhosts/src/index.ts').WebSpec} WebSpec */
/** @typedef {{ address: string, isTls: boolean, host: string, method: string, target: string, headers: Readonly<Record<string, string>>, body: string }} DerivedRequest */

const USUAL_PATHS = [
  ...[
    '/',
    '/index.html',
    '/index.php',
    '/a.css',
    '/static/b.js',
    '/assets/c.png',
    '/d.txt',
    '/none',
    '/none/',
    '/static',
    '/sub/',
  ],
  ...[
    '/index.php/info?y=1',
    '/none.php',
    '/.htaccess',
    '/.git/config',
    '/.well-known/acme-challenge/x',
    '/robots.txt',
    '/favicon.ico',
  ],
  ...['/a%20b', '//a.css', '/sub/../a.css', '/%2e%2e/x', '/a.css?x=1&y=2', '/wp-admin/', '/api/v1/x?q=%20', '/x.bak', '/A.CSS'],
]

/** A text that a simple pattern matches, by its literal parts. @param {string} source */
function exampleOf(source) {
  const text = source
    .replace(/\(\?[!=][^)]*\)/g, '')
    .replace(/\[([^\]^\\])[^\]]*\]/g, '$1')
    .replace(/\\d/g, '1')
    .replace(/\\[ws]/g, 'a')
    .replace(/\\(.)/g, '$1')
    .replace(/\(\?(?:[:<P][^>)]*>?)?/g, '(')
    .replace(/\(([^()|]*)\|[^()]*\)/g, '$1')
    .replace(/\(([^()|]*)\|[^()]*\)/g, '$1')
    .replace(/[()^$]/g, '')
    .replace(/\.[*+]\??/g, 'x')
    .replace(/[*+?]|\{\d.*?\}/g, '')
  return text.startsWith('/') ? text : `/x${text}`
}

/** @param {string} name */
function hostOf(name) {
  if (name === '' || name === '_') return 'other.test'
  if (name.startsWith('*.') || name.startsWith('.')) return `sub.${name.replace(/^\*?\./, '')}`
  return name.replace(/\.\*$/, '.test')
}

/** @param {WebSpec['servers'][number]} server */
function pathsOf(server) {
  const written = locationsOf(server).flatMap(({ match }) => {
    if (match.kind === 'exact') return [match.path, `${match.path}x`]
    if (match.kind === 'prefix') return [match.path, `${match.path}a.css`, `${match.path.replace(/\/$/, '')}/sub/none?q=1`]
    return match.kind === 'pattern' ? [exampleOf(match.pattern.source)] : []
  })
  const paths = [...new Set([...written, ...USUAL_PATHS])]
  return paths.filter((path) => /^\/[\x21-\x7e]*$/.test(path) && path.length < 200)
}

/** @param {WebSpec} web @returns {DerivedRequest[]} */
export function derivedRequests({ servers }) {
  return servers.flatMap((server) => {
    const [name] = server.names.flatMap((one) => (one.kind === 'name' ? [one.name] : []))
    const host = hostOf(name ?? '')
    return server.listen.slice(0, 1).flatMap(({ address, isTls }) => {
      const plain = { address, isTls, host, method: 'GET', headers: {}, body: '' }
      const [first = '/', second = '/'] = pathsOf(server)
      const reads = pathsOf(server).map((target) => ({ ...plain, target }))
      const methods = ['HEAD', 'OPTIONS', 'PUT', 'DELETE', 'TRACE'].flatMap((method) =>
        [first, '/a.css'].map((target) => ({ ...plain, method, target })),
      )
      const posts = [first, second, '/index.php'].map((target) => ({ ...plain, method: 'POST', target, body: 'a=1&b=2' }))
      /** @type {Readonly<Record<string, string>>[]} */
      const fields = [
        ...[
          { Range: 'bytes=0-2' },
          { Range: 'bytes=900-' },
          { 'If-Modified-Since': 'Thu, 01 Jan 2099 00:00:00 GMT' },
          { 'If-None-Match': '"x"' },
        ],
        ...[
          { 'Accept-Encoding': 'gzip' },
          { Cookie: 'a=b; session=1' },
          { 'X-Forwarded-For': '10.0.0.1' },
          { Origin: 'http://o.test' },
        ],
        ...[
          { 'User-Agent': 'Mozilla/5.0 (bot)' },
          { Referer: 'http://elsewhere.test/' },
          { 'X-Requested-With': 'XMLHttpRequest' },
          { Authorization: 'Basic dTpw' },
        ],
      ]
      const conditional = fields.flatMap((headers) => [first, '/a.css'].map((target) => ({ ...plain, headers, target })))
      return [
        ...reads,
        ...methods,
        ...posts,
        ...conditional,
        { ...plain, host: 'unknown.test', target: '/' },
        { ...plain, host: `${host}:8080`, target: first },
      ]
    })
  })
}
