import type { PackPatterns } from './pack.ts'

/** Texts that are to be taken for parts of a protocol. */
export const protocolPatterns: PackPatterns = {
  injected: [
    '(?:set-cookie2?|location|content-(?:type|length|disposition)|transfer-encoding|x-forwarded-(?:for|host)|host|refresh) ?: ?[^\\n]',
    '\\bhttp/(?:0\\.9|1\\.[01]|2)\\b',
    '[(&|] ?[(]?(?:objectclass|cn|uid|sn|mail|userpassword) ?[~<>]?=',
    '[)][(][|&!]?[(]?[a-z*]+ ?=',
  ],
}
