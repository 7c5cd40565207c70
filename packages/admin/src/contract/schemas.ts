import * as z from 'zod/mini'

// zod would compile each schema with `new Function`; most schemas are used a few times in the life of a worker.
z.config({ jitless: true })

/** The schema of a request body or query: other fields are refused. */
export type Fields = z.ZodMiniObject

/** A string of 1 to `max` characters. */
export function text(description: string, max = 1024) {
  return z.string().check(z.minLength(1), z.maxLength(max), z.describe(description))
}

/** A URL path. */
export function urlPath(description: string) {
  return z.string().check(z.regex(/^\//, 'must be a path that begins with "/"'), z.maxLength(8192), z.describe(description))
}

/** An absolute path on this machine. */
export function absolutePath(kind: string, description: string) {
  const error = `must be an absolute path of a ${kind}`
  return z.string().check(z.regex(/^\//, error), z.maxLength(4096), z.describe(description))
}

/** At most `max` items. The body of a request is limited to 1 MiB as well. */
export function list<Item extends z.ZodMiniType>(item: Item, description: string, max = 100_000) {
  return z.array(item).check(z.maxLength(max), z.describe(description))
}

/** Parameter of a query: "0" or "1". */
export function flag(description: string) {
  return z.optional(z.enum(['0', '1']).check(z.describe(description)))
}

/** An integer of a body. */
export function integer(description: string, min: number, max: number) {
  return z.int().check(z.minimum(min), z.maximum(max), z.describe(description))
}

/** An integer of a query, in decimal digits: "0x10", "1e2" and " 5" are refused. */
export function digits(description: string, min: number, max: number) {
  return z.pipe(z.transform(decimalOf), integer(description, min, max))
}

function decimalOf(text: unknown): number {
  return typeof text === 'string' && /^[0-9]{1,16}$/.test(text) ? Number(text) : Number.NaN
}

/** One of a few words. */
export function oneOf<const Words extends readonly string[]>(words: Words, description: string) {
  return z.enum(words).check(z.describe(description))
}

/** Success: the fields and `ok: true`. */
export function success<Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  return z.object({ ok: z.literal(true), ...shape })
}
