// Asks for a user name and password (RFC 7617) in front of some paths, whatever serves them.
//
// The passwords are SHA-256 digests of random tokens, not of words that people choose: use the auth_basic of a vhost file for those.
import { createHash, timingSafeEqual } from 'node:crypto'

/** Paths below these are guarded. */
const GUARDED = ['/internal/']

/** User name -> SHA-256 of the password, in hex: `printf %s "$TOKEN" | sha256sum`. Here: "change-me". */
const USERS = new Map([['ops', 'e2186dbdb1bb4193608605e84f33208765b5693b55edd4f730a719a100eeea6f']])

/** @type {import('svc/plugin').Plugin} */
export default {
  name: 'auth-gate',
  version: '1.0.0',
  // Not `cacheable`: what lies behind the gate must not enter the cache in front of it.
  hooks: {
    onRequest(request) {
      const isGuarded = GUARDED.some((prefix) => `${request.path}/`.startsWith(prefix))
      if (!isGuarded) return { requestHeaders: { 'x-user': null } }
      const user = userOf(request.headers.get('authorization'))
      // The site behind reads the name here; a client cannot set it.
      if (user !== undefined) return { requestHeaders: { 'x-user': user, authorization: null } }
      return {
        respond: {
          status: 401,
          headers: { 'www-authenticate': 'Basic realm="internal"', 'cache-control': 'no-store' },
          body: 'This part of the site needs a password.\n',
        },
      }
    },
  },
}

/**
 * The name of a user with the right password.
 * @param {string | undefined} field
 */
function userOf(field) {
  const [, encoded = ''] = /^basic +([a-z0-9+/=]+)$/i.exec(field ?? '') ?? []
  const [, name = '', password = ''] = /^([^:]*):(.*)$/s.exec(Buffer.from(encoded, 'base64').toString()) ?? []
  const wanted = USERS.get(name)
  // Compared for an unknown name too: the time does not tell which names exist.
  const digest = createHash('sha256').update(password).digest()
  const isRight = timingSafeEqual(digest, Buffer.from(wanted ?? '0'.repeat(64), 'hex'))
  return isRight && wanted !== undefined ? name : undefined
}
