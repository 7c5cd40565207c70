import { CoreError } from '../errors/errors.ts'

/** Checks an unknown value and returns it typed. Throws CORE_PROTOCOL naming the path of the first mismatch. */
export type Guard<T> = (value: unknown, path?: string) => T

/** The type that a guard yields. */
export type Guarded<G> = G extends Guard<infer T> ? T : never

function mismatch(path: string, expected: string, value: unknown): never {
  throw new CoreError('CORE_PROTOCOL', `${path}: expected ${expected}, got ${value === null ? 'null' : typeof value}`)
}

function primitive<T>(kind: 'string' | 'number' | 'boolean'): Guard<T> {
  return (value, path = 'message') => {
    if (typeof value !== kind) mismatch(path, kind, value)
    return value as T
  }
}

export const string: Guard<string> = primitive<string>('string')
export const number: Guard<number> = primitive<number>('number')
export const boolean: Guard<boolean> = primitive<boolean>('boolean')
/** Accepts anything: for values that the receiver checks by other means (a resolved configuration, JSON for display). */
export const anything: Guard<unknown> = (value) => value
/** Accepts anything and returns nothing: for replies without content. */
export const nothing: Guard<undefined> = () => undefined

/** Accepts one of the given strings. */
export function oneOf<const T extends string>(...allowed: readonly T[]): Guard<T> {
  return (value, path = 'message') => {
    if (!allowed.includes(value as T)) mismatch(path, allowed.join(' | '), value)
    return value as T
  }
}

/** Accepts what `inner` accepts, and undefined. */
export function optional<T>(inner: Guard<T>): Guard<T | undefined> {
  return (value, path) => (value === undefined ? undefined : inner(value, path))
}

/** Accepts what `inner` accepts, and null. */
export function nullable<T>(inner: Guard<T>): Guard<T | null> {
  return (value, path) => (value === null ? null : inner(value, path))
}

/** Accepts an array whose items `inner` accepts. */
export function arrayOf<T>(inner: Guard<T>): Guard<T[]> {
  return (value, path = 'message') => {
    if (!Array.isArray(value)) mismatch(path, 'array', value)
    for (let i = 0; i < value.length; i++) inner(value[i], `${path}[${i}]`)
    return value as T[]
  }
}

/** Accepts an object used as a dictionary. */
export function recordOf<T>(inner: Guard<T>): Guard<Record<string, T>> {
  return (value, path = 'message') => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) mismatch(path, 'object', value)
    for (const key of Object.keys(value)) inner((value as Record<string, unknown>)[key], `${path}.${key}`)
    return value as Record<string, T>
  }
}

type Fields = Readonly<Record<string, Guard<unknown>>>
type OptionalKeys<F extends Fields> = { [K in keyof F]: undefined extends Guarded<F[K]> ? K : never }[keyof F]
type ObjectOf<F extends Fields> = { readonly [K in Exclude<keyof F, OptionalKeys<F>>]: Guarded<F[K]> } & {
  readonly [K in OptionalKeys<F>]?: Guarded<F[K]>
}

/** Accepts an object with these fields; others pass unseen, so that a newer sender can add one. */
export function object<F extends Fields>(fields: F): Guard<ObjectOf<F>> {
  const entries = Object.entries(fields)
  return (value, path = 'message') => {
    if (typeof value !== 'object' || value === null) mismatch(path, 'object', value)
    for (const [key, guard] of entries) guard((value as Record<string, unknown>)[key], `${path}.${key}`)
    return value as ObjectOf<F>
  }
}
