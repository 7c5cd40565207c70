import { isCidr } from '@svc/http'
import * as z from 'zod'
import { normalizeHostPattern, parseListenAddress } from '../values/addresses.ts'

// A configuration is parsed once or twice in the life of a process: compiling each schema to code would cost more than that.
z.config({ jitless: true })

/** A table of the config file whose keys all have defaults, or may be left out. */
export const section = <Shape extends z.ZodRawShape>(description: string, shape: Shape) =>
  z
    .strictObject(shape)
    .prefault({} as never)
    .describe(description)

/** A whole number from `min`. */
export const integer = (min: number, max?: number) => {
  const atLeast = z.int().min(min)
  return max === undefined ? atLeast : atLeast.max(max)
}

/** A non-empty text. */
export const text = () => z.string().min(1)

/** An absolute URL path without query. */
export const urlPath = () => z.string().regex(/^\/[^\s?#]*$/, 'expected an absolute URL path such as "/__svc/health"')

/** `host:port`. */
export const hostPort = () =>
  z
    .string()
    .refine((value) => parseListenAddress(value) !== undefined, 'expected host:port such as "127.0.0.1:8080" or "[::1]:8080"')

/** An address or a network. */
export const cidr = () => z.string().refine(isCidr, 'expected an address or a CIDR such as "10.0.0.0/8"')

/** A host name or `*.suffix`. */
export const hostPattern = () =>
  z
    .string()
    .refine((value) => normalizeHostPattern(value) !== undefined, 'expected a host name such as "example.org" or "*.example.org"')
    .meta({ host: true })

/** An id or a label, safe in file names, URLs and metrics. */
export const identifier = () =>
  z
    .string()
    .regex(
      /^[a-z0-9][a-z0-9._-]{0,62}$/,
      'expected 1 to 63 characters of a-z, 0-9, ".", "_" and "-", the first a letter or digit',
    )

/** A relative or absolute file system path; relative ones start from the directory of the file they are written in. */
export const filePath = () => text().meta({ path: true })

/** A text that is never shown and may be given as `env:NAME` or `file:/path`. */
export const secret = () => text().meta({ secret: true })

/** Environment variables by name. */
export const environment = () =>
  z.record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'expected the name of an environment variable'), z.string())
