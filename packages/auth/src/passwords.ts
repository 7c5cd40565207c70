/** Longest password in bytes of UTF-8: hashing costs no more for longer ones, but reading them does. */
export const MAX_PASSWORD_BYTES = 1_024

/** argon2id as OWASP recommends it; memory in KiB. */
const cost = { memoryCost: 19_456, timeCost: 2, parallelism: 1, outputLen: 32 } as const
/** `Algorithm.Argon2id`, which is a type without a value. */
const ARGON2ID = 2

/** Returns true if a text can be a password. It counts as sent: differently composed forms of one letter are different passwords. */
export function isPassword(text: string): boolean {
  const bytes = Buffer.byteLength(text)
  return bytes > 0 && bytes <= MAX_PASSWORD_BYTES
}

/** Loads the native code only in processes that need it. */
function loadArgon2(): Promise<typeof import('@node-rs/argon2')> {
  return import('@node-rs/argon2')
}

/** Hashes a password for `password_hash` of a user: argon2id in its encoded form, with a salt of 16 random bytes. */
export async function hashPassword(password: string): Promise<string> {
  const { hash } = await loadArgon2()
  return hash(password, { ...cost, algorithm: ARGON2ID })
}

/** Compares a password with an encoded hash. `unreadable`: the hash cannot be parsed, so no password fits; tell the operator. */
export async function verifyPassword(encoded: string, password: string): Promise<'right' | 'wrong' | 'unreadable'> {
  const { verify } = await loadArgon2()
  try {
    return (await verify(encoded, password)) && isPassword(password) ? 'right' : 'wrong'
  } catch {
    return 'unreadable'
  }
}
