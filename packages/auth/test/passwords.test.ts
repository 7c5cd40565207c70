import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hashPassword, isPassword, MAX_PASSWORD_BYTES, verifyPassword } from '../src/index.ts'

test('a password fits its hash and no other does', async () => {
  const encoded = await hashPassword('correct horse')
  assert.match(encoded, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/)
  assert.equal(await verifyPassword(encoded, 'correct horse'), 'right')
  assert.equal(await verifyPassword(encoded, 'correct horsf'), 'wrong')
  assert.notEqual(await hashPassword('correct horse'), encoded, 'the salt is new each time')
})

test('a hash of another program is read with its own parameters', async () => {
  // echo -n password | argon2 somesalt -id -m 12 -t 3 -p 1 -e
  const encoded = '$argon2id$v=19$m=4096,t=3,p=1$c29tZXNhbHQ$qLml5cbqFAO6YxVHhrSBHP0UWdxrIxkNcM8aMX3blzU'
  assert.equal(await verifyPassword(encoded, 'password'), 'right')
})

test('letters that look the same in another composition are another password', async () => {
  const encoded = await hashPassword('caf\u00e9')
  assert.equal(await verifyPassword(encoded, 'cafe\u0301'), 'wrong')
})

test('an empty password and one that is too long fit nothing', async () => {
  const long = '\u00e9'.repeat(MAX_PASSWORD_BYTES / 2)
  assert.deepEqual([long, `${long}x`, '', 'x'].map(isPassword), [true, false, false, true])
  assert.equal(await verifyPassword(await hashPassword(long), long), 'right')
  assert.equal(await verifyPassword(await hashPassword(`${long}x`), `${long}x`), 'wrong')
  assert.equal(await verifyPassword(await hashPassword(''), ''), 'wrong')
})

for (const encoded of [
  '',
  'secret',
  '$argon2id$v=19$m=19456,t=2,p=1$<salt>$<hash>',
  '$argon2id$v=19$m=0,t=0,p=0$c29tZXNhbHQ$AAAA',
]) {
  test(`a hash that cannot be read fits nothing and is told: ${encoded || 'empty'}`, async () => {
    assert.equal(await verifyPassword(encoded, 'secret'), 'unreadable')
  })
}
