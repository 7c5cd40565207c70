import * as guarding from '../directives/guarding.ts'
import type { AuthRequestSpec, GuardSpec } from '../spec/guard.ts'
import type { Level } from './level.ts'
import { connectionLimits, requestLimits } from './limits.ts'

function authRequest(level: Level): AuthRequestSpec | undefined {
  const uri = level.value(guarding.authRequest)
  if (uri === undefined || uri === 'off') return undefined
  return { uri, sets: level.nearest(guarding.authRequestSet) }
}

/** The protection of a level. */
export function guardOf(level: Level): GuardSpec {
  return {
    authRequest: authRequest(level),
    requestLimits: requestLimits(level),
    connectionLimits: connectionLimits(level),
  }
}
