import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type AccessRule, anonymous, type Caller, decideAccess, machine, type Role } from '../src/index.ts'

function user(role: Role): Caller {
  return { kind: 'user', user: { username: 'ann', role }, jti: 'j', expiresAt: 0, by: 'bearer' }
}

const callers: readonly Caller[] = [anonymous, machine, user('viewer'), user('tenant_admin'), user('super_admin')]

type Decision = ReturnType<typeof decideAccess>
const ok = 'allow'

/** Decisions for: a caller without credentials, the machine, viewer, tenant_admin, super_admin. */
const table: readonly [AccessRule['access'], isForTenants: boolean, readonly Decision[]][] = [
  ['open', false, [ok, ok, ok, ok, ok]],
  ['loopback', false, [401, ok, 403, 403, ok]],
  ['loopback', true, [401, ok, 403, ok, ok]],
  ['viewer', false, [401, 401, ok, 403, ok]],
  ['viewer', true, [401, 401, ok, ok, ok]],
  ['tenant_admin', true, [401, 401, 403, ok, ok]],
  ['super_admin', false, [401, 401, 403, 403, ok]],
]
for (const [access, isForTenants, decisions] of table) {
  test(`access ${access}${isForTenants ? ', for tenants' : ''}: who may call`, () => {
    assert.deepEqual(
      callers.map((caller) => decideAccess({ access, isForTenants }, caller)),
      decisions,
    )
  })
}
