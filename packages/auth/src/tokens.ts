import { createSecretKey, type KeyObject, randomBytes } from 'node:crypto'
import { JWSSignatureVerificationFailed, JWTExpired } from 'jose/errors'
import { SignJWT } from 'jose/jwt/sign'
import { jwtVerify } from 'jose/jwt/verify'
import { type Role, roles, type User } from './roles.ts'

const ALGORITHM = 'HS256'
const ISSUER = 'svc'
/** A longer text is not parsed. Ours have a few hundred bytes. */
const MAX_TOKEN_BYTES = 4_096
/** Last time that a Date can hold, in seconds. */
const LAST_SECOND = 8_640_000_000_000
/** Random bytes of an id: too many to be guessed, or drawn twice. */
const ID_BYTES = 16

/** Contents of a token. */
export interface TokenClaims extends User {
  readonly jti: string
  /** Milliseconds since the epoch, whole seconds. */
  readonly issuedAt: number
  readonly expiresAt: number
}

/** Key of all tokens of one secret. Make it once: the key that it holds is imported at its first use. */
export type TokenKey = KeyObject

/** Makes the key for a secret. */
export function tokenKey(secret: string): TokenKey {
  return createSecretKey(secret, 'utf8')
}

/** A new id of a token. */
export function newTokenId(): string {
  return randomBytes(ID_BYTES).toString('base64url')
}

/** Signs a token (RFC 7519). Times are cut to whole seconds. */
export function signToken({ username, role, tenantId, jti, issuedAt, expiresAt }: TokenClaims, key: TokenKey): Promise<string> {
  return new SignJWT({ role, ...(tenantId === undefined ? {} : { tenant_id: tenantId }) })
    .setProtectedHeader({ alg: ALGORITHM, typ: 'JWT' })
    .setIssuer(ISSUER)
    .setSubject(username)
    .setIssuedAt(Math.floor(issuedAt / 1000))
    .setExpirationTime(Math.floor(expiresAt / 1000))
    .setJti(jti)
    .sign(key)
}

/**
 * Reads a token. `expired` means that we signed it; `signature` and `malformed` that we did not, so it may be one of a site.
 * @param nowMs wall clock
 */
export async function verifyToken(
  token: string,
  key: TokenKey,
  nowMs: number,
): Promise<TokenClaims | 'malformed' | 'signature' | 'expired'> {
  if (token.length > MAX_TOKEN_BYTES) return 'malformed'
  try {
    const options = { algorithms: [ALGORITHM], issuer: ISSUER, requiredClaims: ['exp'], currentDate: new Date(nowMs) }
    const { payload } = await jwtVerify(token, key, options)
    return claimsOf(payload) ?? 'malformed'
  } catch (error) {
    if (error instanceof JWTExpired) return 'expired'
    return error instanceof JWSSignatureVerificationFailed ? 'signature' : 'malformed'
  }
}

function claimsOf({ sub, role, tenant_id: tenantId, iat, exp, jti }: Readonly<Record<string, unknown>>): TokenClaims | undefined {
  if (typeof sub !== 'string' || typeof jti !== 'string' || !roles.includes(role as Role)) return undefined
  if (!isTime(iat) || !isTime(exp) || (tenantId !== undefined && typeof tenantId !== 'string')) return undefined
  return { username: sub, role: role as Role, tenantId, jti, issuedAt: iat * 1000, expiresAt: exp * 1000 }
}

/** A program that has the secret may sign anything. */
function isTime(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value <= LAST_SECOND
}
