import type { Config } from '@svc/config'
import type { Pacer } from '@svc/core'
import type { LinearPattern } from '@svc/http'
import { compilePatterns, matchesAny } from './packs/pack.ts'
import { protocolPatterns } from './packs/protocol.ts'
import { scannerAgents, scannerFields, scannerPaths } from './packs/scanner.ts'
import { sqli } from './packs/sqli.ts'
import { traversal } from './packs/traversal.ts'
import { xss } from './packs/xss.ts'
import { breaksProtocol, hasWrongType } from './protocol-faults.ts'
import type { RequestForms } from './request-forms.ts'
import { withoutComments } from './texts.ts'

export type PackName = keyof Config['waf']['packs']

/** A built-in set of patterns. */
export interface Pack {
  /** True if it looks at more than path and query of a request without a body. */
  readonly looksFurther: boolean
  matchesHead(forms: RequestForms): boolean
  /** Tests the body, which is there. */
  matchesBody(forms: RequestForms): boolean
}

/** How each pack is made. Compiling takes some hundred milliseconds for some, in slices. */
export const packs: Readonly<Record<PackName, (pacer: Pacer) => Promise<Pack>>> = {
  traversal: async (pacer) => {
    const patterns = await compilePatterns(traversal, pacer)
    return {
      looksFurther: false,
      matchesHead: (forms) => matchesAny(patterns, [forms.packTarget, forms.packPath, forms.packQuery]),
      matchesBody: (forms) => matchesAny(patterns, [forms.packBody]),
    }
  },
  sqli: async (pacer) => {
    const patterns = await compilePatterns(sqli, pacer)
    const matches = (texts: readonly string[]) => matchesSql(patterns, texts)
    return {
      looksFurther: true,
      matchesHead: (forms) => matches([forms.packPath, forms.packQuery, forms.packFields]),
      matchesBody: (forms) => matches([forms.packBody]),
    }
  },
  xss: async (pacer) => {
    const patterns = await compilePatterns(xss, pacer)
    return {
      looksFurther: true,
      matchesHead: (forms) => matchesAny(patterns, [forms.packPath, forms.packQuery, forms.packFields, forms.packUserAgent]),
      matchesBody: (forms) => matchesAny(patterns, [forms.packBody]),
    }
  },
  scanner: async (pacer) => {
    const agents = await compilePatterns(scannerAgents, pacer)
    const paths = await compilePatterns(scannerPaths, pacer)
    return {
      looksFurther: true,
      matchesHead: (forms) =>
        matchesAny(agents, [forms.packUserAgent]) ||
        matchesAny(paths, [forms.packPath]) ||
        forms.request.headers.some(([name]) => scannerFields.has(name)),
      matchesBody: () => false,
    }
  },
  protocol: async (pacer) => {
    const patterns = await compilePatterns(protocolPatterns, pacer)
    return {
      looksFurther: true,
      matchesHead: (forms) => breaksProtocol(forms) || matchesAny(patterns, [forms.packQuery]),
      matchesBody: (forms) => hasWrongType(forms),
    }
  },
}

/** Comments of SQL divide words: the texts are looked at with and without them. */
function matchesSql(patterns: readonly LinearPattern[], texts: readonly string[]): boolean {
  return matchesAny(patterns, texts) || matchesAny(patterns, texts.filter((text) => text.includes('/*')).map(withoutComments))
}
