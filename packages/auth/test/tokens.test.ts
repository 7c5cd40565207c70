import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import { newTokenId, signToken, type TokenClaims, tokenKey, verifyToken } from '../src/index.ts'

const NOW = Date.UTC(2026, 10, 23)
const SECRET = 'x'.repeat(32)
const key = tokenKey(SECRET)
const claims: TokenClaims = {
  username: 'ann',
  role: 'tenant_admin',
  tenantId: 'shop',
  jti: newTokenId(),
  issuedAt: NOW,
  expiresAt: NOW + 60_000,
}

function base64url(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

/** A token by hand, as an attacker or another program makes one. */
function handmade(payload: unknown, header: unknown = { alg: 'HS256', typ: 'JWT' }, secret = SECRET, hash = 'sha256'): string {
  const text = `${base64url(header)}.${base64url(payload)}`
  return `${text}.${createHmac(hash, secret).update(text).digest('base64url')}`
}

const seconds = NOW / 1000
const payload = { iss: 'svc', sub: 'ann', role: 'viewer', iat: seconds, exp: seconds + 60, jti: 'j' }

test('a token carries its claims until it expires', async () => {
  const token = await signToken(claims, key)
  assert.deepEqual(await verifyToken(token, key, NOW), claims)
  assert.deepEqual(await verifyToken(token, key, NOW + 59_999), claims)
  assert.equal(await verifyToken(token, key, NOW + 60_000), 'expired')
})

test('a token has the registered claims and no more', async () => {
  const [header = '', body = ''] = (await signToken(claims, key)).split('.')
  const read = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString())
  assert.deepEqual(read(header), { alg: 'HS256', typ: 'JWT' })
  const { username: sub, role, tenantId, jti } = claims
  assert.deepEqual(read(body), { iss: 'svc', sub, role, tenant_id: tenantId, iat: seconds, exp: seconds + 60, jti })
})

test('a token made by hand with our secret is read, which is what makes the refusals below mean something', async () => {
  const read = await verifyToken(handmade(payload), key, NOW)
  assert.equal(typeof read === 'string' ? read : read.username, 'ann')
})

test('a token of another secret is not ours, expired or not', async () => {
  const other = tokenKey('y'.repeat(32))
  assert.equal(await verifyToken(await signToken(claims, other), key, NOW), 'signature')
  assert.equal(await verifyToken(await signToken(claims, other), key, NOW + 3_600_000), 'signature')
})

const malformed: readonly [why: string, token: string][] = [
  ['no token', ''],
  ['no dots', 'token'],
  ['another algorithm of the same key', handmade(payload, { alg: 'HS512', typ: 'JWT' }, SECRET, 'sha512')],
  ['no algorithm', `${base64url({ alg: 'none' })}.${base64url(payload)}.`],
  ['another issuer', handmade({ ...payload, iss: 'site' })],
  ['no issuer', handmade({ ...payload, iss: undefined })],
  ['no expiry', handmade({ ...payload, exp: undefined })],
  ['an expiry that no date can be', handmade({ ...payload, exp: 1e300 })],
  ['a time of issue that is no time', handmade({ ...payload, iat: 1e300 })],
  ['no subject', handmade({ ...payload, sub: undefined })],
  ['no id', handmade({ ...payload, jti: undefined })],
  ['an unknown role', handmade({ ...payload, role: 'root' })],
  ['a tenant that is no text', handmade({ ...payload, tenant_id: 7 })],
  ['a payload that is no object', handmade('ann')],
  ['a token that is too long', handmade({ ...payload, note: 'x'.repeat(4_096) })],
]
for (const [why, token] of malformed) {
  test(`a token is not ours: ${why}`, async () => {
    assert.equal(await verifyToken(token, key, NOW), 'malformed')
  })
}
