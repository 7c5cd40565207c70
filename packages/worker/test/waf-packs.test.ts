import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Pacer } from '@svc/core'
import { parseTarget } from '@svc/http'
import { readBody } from '../src/waf/body-text.ts'
import { type PackName, packs } from '../src/waf/packs.ts'
import { RequestForms } from '../src/waf/request-forms.ts'

interface Sample {
  readonly method?: string
  readonly target?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Buffer
  readonly type?: string
}

const names = Object.keys(packs) as PackName[]
const made = Object.fromEntries(await Promise.all(names.map(async (name) => [name, await packs[name](new Pacer())] as const)))
const FORM = 'application/x-www-form-urlencoded'

/** The packs that a request matches. */
function matchesOf({ method = 'GET', target = '/', headers = {}, body, type = FORM }: Sample): string[] {
  const parsed = parseTarget(target)
  assert.ok(typeof parsed !== 'string', `${target}: ${JSON.stringify(parsed)}`)
  const { rawPath, path, query } = parsed
  const fields = Object.entries(body === undefined ? headers : { 'content-type': type, ...headers })
  const forms = new RequestForms({ method, rawPath, path, query, headers: fields, address: '', site: '' })
  if (body !== undefined) forms.body = readBody(Buffer.from(body), type)
  return names.filter((name) => made[name]?.matchesHead(forms) || (forms.body !== undefined && made[name]?.matchesBody(forms)))
}

const inQuery = (text: string) => ({ target: `/search?q=${encodeURIComponent(text)}` })
const texts: Readonly<Partial<Record<PackName, readonly string[]>>> = {
  traversal: [
    '../../etc/passwd',
    '..\\..\\windows\\win.ini',
    '/etc/shadow',
    'php://filter/convert.base64-encode/resource=x',
    '/proc/self/environ',
    'file:///etc/hosts',
    '....//....//x',
    '.git/config',
  ],
  sqli: [
    "' or 1=1 -- ",
    "1' union select 1,2,3 from users",
    '1 and sleep(5)',
    "'; drop table users; --",
    "admin'--",
    "1' and extractvalue(1,concat(0x7e,version()))#",
    "') or ('a'='a",
    '1 or 1=1',
    "x' waitfor delay '0:0:5'",
    '(select(0)from(select(sleep(9)))v)',
    'select table_name from information_schema.tables',
  ],
  xss: [
    '<script>alert(1)</script>',
    '<img src=x onerror=alert(1)>',
    'javascript:alert(document.cookie)',
    '"><svg/onload=confirm(1)>',
    '<iframe src="data:text/html,x">',
    "';document.location='//evil.example'//",
    '{{constructor.constructor("alert(1)")()}}',
  ],
}

for (const [name, list] of Object.entries(texts))
  test(`${name} finds attacks in queries, forms, JSON and parts of forms`, () => {
    for (const text of list) {
      const parts = `--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n${text}\r\n--b--\r\n`
      const samples: Sample[] = [
        inQuery(text),
        { body: `a=1&b=${encodeURIComponent(text)}` },
        { body: JSON.stringify({ a: [{ b: text }] }), type: 'application/json' },
        {
          body: JSON.stringify({ a: text }).replace(/[a-z]/g, (c) => `\\u00${c.charCodeAt(0).toString(16)}`),
          type: 'application/json',
        },
        { body: parts, type: 'multipart/form-data; boundary=b' },
        { body: text, type: 'text/plain' },
      ]
      for (const sample of samples) assert.ok(matchesOf(sample).includes(name), `${JSON.stringify(sample)}`)
    }
  })

test('escapes, case, comments and control characters do not hide an attack', () => {
  const evasions: [PackName, Sample][] = [
    ['sqli', { target: '/?id=1%2527%2520UnIoN%2520SeLeCt%25201' }],
    ['sqli', { target: '/?id=1+union/**/all/*x*/select+1' }],
    ['sqli', { target: '/?id=1/*!50000union*/+/*!select*/+1' }],
    ['sqli', { target: '/?id=1%27%00+or%0A1%3D1' }],
    ['sqli', { target: '/?id=%u0027%20or%201%3D1' }],
    ['sqli', { target: '/?id=%EF%BC%87+or+1%EF%BC%9D1' }],
    ['sqli', { headers: { cookie: 'id=1%27+or+1%3D1' } }],
    ['xss', { target: '/?q=%3CScRiPt%00%3Ealert(1)' }],
    ['xss', { target: '/?q=jav%09ascript%3Aalert(1)' }],
    ['xss', { target: '/?q=%26%23x6a%3Bavascript%26colon%3Balert(1)' }],
    ['xss', { target: '/?q=%5Cu003cscript%5Cu003e' }],
    ['xss', { headers: { referer: 'https://a.example/?<script>x</script>' } }],
    ['traversal', { target: '/static/..%2f..%2fetc%2fpasswd' }],
    ['traversal', { target: '/static/%252e%252e%252fsecret' }],
    ['traversal', { target: '/?f=..%c0%af..%c0%afetc' }],
    ['traversal', { target: '/?f=%2e%2e%5c%2e%2e%5cx' }],
  ]
  for (const [name, sample] of evasions) assert.ok(matchesOf(sample).includes(name), JSON.stringify(sample))
})

test('scanner finds names and probes, protocol what breaks rules', () => {
  for (const agent of [
    'sqlmap/1.8#stable',
    'Mozilla/5.00 (Nikto/2.1.6)',
    'Mozilla/5.0 (compatible; Nmap Scripting Engine)',
    'gobuster/3.6',
  ])
    assert.deepEqual(matchesOf({ headers: { 'user-agent': agent } }), ['scanner'], agent)
  assert.ok(matchesOf({ target: '/vendor/phpunit/phpunit/src/Util/PHP/eval-stdin.php' }).includes('scanner'))
  const wrong: Sample[] = [
    { method: 'TRACE' },
    { target: '/?a=%zz' },
    { target: '/?a=%00' },
    { target: '/?a=%c0%ae' },
    { target: '/backup.sql' },
    { headers: { proxy: 'http://evil.example' } },
    { headers: { range: `bytes=${'0-1,'.repeat(9)}2-3` } },
    { target: '/?u=%0d%0aSet-Cookie:%20a=b' },
    { method: 'POST', body: 'x', type: 'text/xml; charset=utf-7' },
  ]
  for (const sample of wrong) assert.ok(matchesOf(sample).includes('protocol'), JSON.stringify(sample))
})

/** As browsers, apps and programs send them. */
const ordinary: readonly Sample[] = [
  ...[
    "Conan O'Brien",
    "it's 5 o'clock & we're late",
    'select a size, then update your cart from the list',
    'union of workers and employers',
    'drop me a line; or call',
    'rock & roll -- the best of',
    '1+1=2 and 2+2=4',
    'price < 100 and rating > 4',
    'C:\\Projects\\notes.txt',
    'how to alert (or warn) a user',
    'Grüße aus München – 20 % Rabatt!',
    '日本語の検索',
    "don't; won't; can't",
    'a/b/c...d',
    'name="value"',
    'SELECT your plan',
    'where do I order by phone',
    '<3 you & me',
    'if (x) then y',
    'version 2.0 (beta)',
    "the 'best' and 'worst' of 2025",
    '#hashtag @user https://example.org/a?b=c&d=e',
    '2025-01-01T00:00:00Z',
    'user@example.org',
    '{"a": 1}',
    'on the one hand = on the other',
  ].flatMap((text): Sample[] => [
    inQuery(text),
    { body: JSON.stringify({ text }), type: 'application/json' },
    { body: `t=${encodeURIComponent(text)}` },
  ]),
  { target: '/items/42?page=2&sort=-price&filter%5Bcolor%5D=red&filter%5Bsize%5D=m' },
  { target: '/_next/static/chunks/main-abc123.js?v=1.2.3' },
  { target: '/img/a%20b(1).png?w=640&q=75' },
  { target: '/callback?code=4%2F0AX4XfWh&state=eyJhIjoxfQ%3D%3D&scope=openid%20email' },
  { target: '/?utm_source=news&utm_medium=e-mail&gclid=Cj0KCQ' },
  {
    headers: {
      cookie: 'sid=s%3AabcDEF.123%2F456; theme=dark; consent={"a":true}',
      referer: 'https://www.example.org/search?q=a+b',
    },
  },
  {
    headers: {
      'user-agent':
        'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1',
    },
  },
  { headers: { 'user-agent': 'curl/8.5.0' } },
  { headers: { authorization: 'Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-_x', 'x-requested-with': 'XMLHttpRequest' } },
  { headers: { 'if-none-match': 'W/"abc"', range: 'bytes=0-1023', 'sec-ch-ua': '"Chromium";v="130", "Not?A_Brand";v="99"' } },
  {
    method: 'POST',
    body: Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x27, 0x20, 0x6f, 0x72, 0x20, 0x31, 0x3d, 0x31]),
    type: 'image/png',
  },
]

test('ordinary requests match no pack', () => {
  const wrong = ordinary.flatMap((sample) => matchesOf(sample).map((name) => `${name}: ${JSON.stringify(sample)}`))
  assert.deepEqual(wrong, [])
})

test('a pack is compiled in slices, between which a worker does other work', async () => {
  for (const name of ['sqli', 'xss'] as const) {
    let turns = 0
    let immediate = setImmediate(function next() {
      turns++
      immediate = setImmediate(next)
    })
    await packs[name](new Pacer(1))
    clearImmediate(immediate)
    assert.ok(turns > 20, `${name} held up the process: ${turns} turns`)
  }
})
