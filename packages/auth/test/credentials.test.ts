import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  clearedSessionCookie,
  isOwnPage,
  namesSessionCookie,
  readCredentials,
  sessionCookie,
  withoutSessionCookie,
} from '../src/index.ts'

type Headers = Parameters<typeof readCredentials>[0]

const read: readonly [why: string, headers: Headers, expected: ReturnType<typeof readCredentials>][] = [
  ['nothing', [['accept', '*/*']], undefined],
  ['a bearer token', [['authorization', 'Bearer a.b-c_d']], { tokens: ['a.b-c_d'], by: 'bearer' }],
  ['a scheme in other letters, and blanks', [['authorization', ' bEARER   a.b ']], { tokens: ['a.b'], by: 'bearer' }],
  ['another scheme', [['authorization', 'Basic YTpi']], undefined],
  ['no token', [['authorization', 'Bearer']], undefined],
  ['more than a token', [['authorization', 'Bearer a b']], undefined],
  [
    'two Authorization fields',
    [
      ['authorization', 'Bearer a'],
      ['authorization', 'Bearer b'],
    ],
    undefined,
  ],
  ['the cookie', [['cookie', 'a=1; SVC_ADMIN=t.t.t; b=2']], { tokens: ['t.t.t'], by: 'cookie' }],
  [
    'a cookie whose name is part of another',
    [['cookie', 'XSVC_ADMIN=t.t.t; SVC_ADMINX=t.t.t; SVC_ADMIN_=t.t.t; a=SVC_ADMIN=t.t.t']],
    undefined,
  ],
  [
    'the cookie in the second field',
    [
      ['cookie', 'a=1'],
      ['cookie', 'SVC_ADMIN=t.t.t'],
    ],
    { tokens: ['t.t.t'], by: 'cookie' },
  ],
  ['a cookie that is no token', [['cookie', 'SVC_ADMIN=t; SVC_ADMIN=a b; SVC_ADMIN=']], undefined],
  [
    'several cookies',
    [
      ['cookie', 'SVC_ADMIN=; SVC_ADMIN=a.a.a; SVC_ADMIN="b.b.b"; SVC_ADMIN=a.a.a'],
      ['cookie', 'SVC_ADMIN=c.c.c'],
    ],
    { tokens: ['a.a.a', 'b.b.b', 'c.c.c'], by: 'cookie' },
  ],
  [
    'more cookies than are verified',
    [['cookie', Array.from({ length: 20 }, (_, index) => `SVC_ADMIN=a.a.${index}`).join('; ')]],
    { tokens: Array.from({ length: 16 }, (_, index) => `a.a.${index}`), by: 'cookie' },
  ],
  [
    'both: the bearer token counts',
    [
      ['cookie', 'SVC_ADMIN=t.t.t'],
      ['authorization', 'Bearer a'],
    ],
    { tokens: ['a'], by: 'bearer' },
  ],
]
for (const [why, headers, expected] of read) {
  test(`credentials of a request: ${why}`, () => assert.deepEqual(readCredentials(headers), expected))
}

const page = { method: 'POST', scheme: 'https', host: 'admin.test' }
const proof: Headers = [
  ['origin', 'https://admin.test'],
  ['x-svc-request', '1'],
]
const without = (name: string) => proof.filter(([field]) => field !== name)

test('a mutation with the cookie needs the own origin and the field', () => {
  assert.equal(isOwnPage({ ...page, headers: proof }), true)
  assert.equal(isOwnPage({ ...page, host: 'ADMIN.test:443', headers: proof }), true)
  assert.equal(isOwnPage({ ...page, method: 'DELETE', headers: proof }), true)
})

const foreign: readonly [why: string, facts: Partial<Parameters<typeof isOwnPage>[0]>][] = [
  ['no Origin', { headers: without('origin') }],
  ['no X-Svc-Request', { headers: without('x-svc-request') }],
  ['another value of X-Svc-Request', { headers: [...without('x-svc-request'), ['x-svc-request', 'true']] }],
  ['an opaque origin', { headers: [...without('origin'), ['origin', 'null']] }],
  ['another host', { headers: [...without('origin'), ['origin', 'https://evil.test']] }],
  ['a subdomain', { headers: [...without('origin'), ['origin', 'https://x.admin.test']] }],
  ['another port', { headers: [...without('origin'), ['origin', 'https://admin.test:8443']] }],
  ['another scheme', { headers: [...without('origin'), ['origin', 'http://admin.test']] }],
  ['a second Origin', { headers: [...proof, ['origin', 'https://evil.test']] }],
  ['a host that cannot be read, and no origin', { host: 'a b', headers: without('origin') }],
]
for (const [why, facts] of foreign) {
  test(`a mutation with the cookie is refused: ${why}`, () => {
    assert.equal(isOwnPage({ ...page, headers: proof, ...facts }), false)
  })
}

test('reading needs no proof', () => {
  assert.equal(isOwnPage({ ...page, method: 'GET', headers: [] }), true)
  assert.equal(isOwnPage({ ...page, method: 'HEAD', headers: [] }), true)
})

test('the session cookie is for the endpoints of the service alone, and not for scripts', () => {
  const plain = 'SVC_ADMIN=a.b-c_d; Max-Age=3600; Path=/__svc/; HttpOnly; SameSite=Strict'
  assert.equal(sessionCookie('a.b-c_d', 3600, false), plain)
  assert.deepEqual(sessionCookie('a.b-c_d', 3600, true).split('; ').sort(), [...plain.split('; '), 'Secure'].sort())
  assert.equal(clearedSessionCookie(false), 'SVC_ADMIN=; Max-Age=0; Path=/__svc/; HttpOnly; SameSite=Strict')
})

test('the session cookie is taken out of a Cookie field, and nothing else is', () => {
  assert.equal(withoutSessionCookie('a=1; b=2'), 'a=1; b=2')
  assert.equal(withoutSessionCookie('SVC_ADMIN=t.t.t'), undefined)
  assert.equal(withoutSessionCookie('a=1; SVC_ADMIN=t.t.t; b="x y"; SVC_ADMIN=u'), 'a=1; b="x y"')
  assert.equal(withoutSessionCookie('XSVC_ADMIN=t.t.t; svc_admin=u'), 'XSVC_ADMIN=t.t.t; svc_admin=u')
  assert.equal(withoutSessionCookie('SVC_ADMIN =t;SVC_ADMIN=u'), undefined)
})

for (const field of [
  'SVC_ADMIN=x',
  'SVC_ADMIN=; Max-Age=0',
  'svc_admin=x; Path=/',
  '  SVC_ADMIN = x',
  '\tSVC_ADMIN\t=x',
  '=SVC_ADMIN=x',
  ' = SVC_ADMIN=x',
  'SVC_ADMIN',
  'SVC_ADMIN;',
]) {
  test(`a field of a site names the session cookie: ${JSON.stringify(field)}`, () =>
    assert.equal(namesSessionCookie(field), true))
}

for (const field of ['a=1', 'a=SVC_ADMIN=1', 'SVC_ADMINISTRATOR=1', 'X_SVC_ADMIN=1', 'SVC_ADMIN_2=1', 'a=1; SVC_ADMIN=x', '']) {
  test(`a field of a site names another cookie: ${JSON.stringify(field)}`, () => assert.equal(namesSessionCookie(field), false))
}
