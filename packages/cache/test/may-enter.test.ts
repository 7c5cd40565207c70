import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { HeaderList } from '@svc/http'
import { isCredentialFree, mayEnterL0 } from '../src/index.ts'

const asker = (fields: Record<string, string> = {}, method = 'GET') => ({ method, header: (name: string) => fields[name] })

const enters = (headers: HeaderList, status = 200, request = asker()) =>
  mayEnterL0(request, 'gzip', { status, headers }, { dependsOnCookies: false, affinityCookie: 'SVC_SID' })

test('only answers to reads with these statuses enter', () => {
  for (const status of [200, 203, 204, 301, 308, 404, 410]) assert.equal(enters([], status), true, String(status))
  for (const status of [206, 302, 303, 304, 307, 400, 401, 403, 429, 500, 503])
    assert.equal(enters([], status), false, String(status))
  assert.equal(enters([], 200, asker({}, 'HEAD')), true)
  assert.equal(enters([], 200, asker({}, 'POST')), false)
})

const refused: HeaderList = [
  ['Set-Cookie', 'a=b'],
  ['vary', '*'],
  ['Vary', 'Accept-Encoding, Cookie'],
  ['cache-control', 'private'],
  ['Cache-Control', 'max-age=60, NO-STORE'],
  ['cache-control', 'no-cache="x"'],
  ['content-encoding', 'br'],
]

for (const field of refused) {
  test(`a response with ${field.join(': ')} stays out`, () => assert.equal(enters([['etag', '"a"'], field]), false))
}

const accepted: HeaderList = [
  ['vary', 'accept-encoding'],
  ['vary', ''],
  ['cache-control', 'public, max-age=0, must-revalidate'],
  ['content-encoding', 'gzip'],
  ['x-anything', 'no-store'],
]

for (const field of accepted) {
  test(`a response with ${field.join(': ')} enters`, () => assert.equal(enters([field]), true))
}

test('answers to requests with credentials stay out', () => {
  assert.equal(enters([], 200, asker({ authorization: 'Basic x' })), false)
  assert.equal(isCredentialFree(asker({ authorization: '' }), false, 'SVC_SID'), false)
})

test('responses that cookies do not change enter with any cookies, others only without cookies', () => {
  assert.equal(isCredentialFree(asker({ cookie: 'a=b' }), false, 'SVC_SID'), true)
  assert.equal(isCredentialFree(asker({ cookie: 'a=b' }), true, 'SVC_SID'), false)
  assert.equal(isCredentialFree(asker({ cookie: 'SVC_SID=1; SVC_ADMIN=2' }), true, 'SVC_SID'), true)
  assert.equal(isCredentialFree(asker({ cookie: 'SVC_SID=1; a' }), true, 'SVC_SID'), false)
  assert.equal(isCredentialFree(asker({ cookie: 'SVC_SID=1' }), true, 'OTHER'), false)
  assert.equal(isCredentialFree(asker({ cookie: 'OTHER=1' }), true, 'OTHER'), true)
  assert.equal(isCredentialFree(asker(), true, 'SVC_SID'), true)
})

test('an answer that may not be transformed for this client is not for others', () => {
  assert.equal(enters([], 200, asker({ 'cache-control': 'no-transform' })), false)
  assert.equal(enters([], 200, asker({ 'cache-control': 'no-cache' })), true)
})
