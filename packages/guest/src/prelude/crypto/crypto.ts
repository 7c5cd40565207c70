import { getRandomValues, randomUUID } from './random.ts'
import { SubtleCrypto } from './subtle.ts'

/** The global `crypto`. */
export const crypto = Object.freeze({ getRandomValues, randomUUID, subtle: new SubtleCrypto() })
