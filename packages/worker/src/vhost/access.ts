import { CidrSet } from '@svc/http'
import type { AccessRule } from '@svc/vhosts'

/** Whether a client may come in. */
export type AccessCheck = (address: string) => boolean

/** Compiles `allow` and `deny`: the first rule that fits decides, and who fits none may come in. */
export function compileAccess(rules: readonly AccessRule[]): AccessCheck | undefined {
  if (rules.length === 0) return undefined
  const compiled = rules.map(({ isAllowed, source }) => ({ isAllowed, fits: matcherOf(source) }))
  return (address) => compiled.find(({ fits }) => fits(address))?.isAllowed ?? true
}

function matcherOf(source: string): (address: string) => boolean {
  if (source === 'all') return () => true
  // A connection over a unix socket has no address.
  if (source === 'unix:') return (address) => address === ''
  const set = new CidrSet([source])
  return (address) => set.contains(address)
}
