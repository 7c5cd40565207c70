import type { AuthRequestSpec } from '../spec/guard.ts'
import { rule } from './rule.ts'
import { settableVariable } from './settable-variable.ts'

/** `auth_request`: the path of the request that decides, or off. */
export const authRequest = rule<string>('auth_request', { args: 1, parse: (call) => call.arg(0) })

/** `auth_request_set`. */
export const authRequestSet = rule<AuthRequestSpec['sets'][number]>('auth_request_set', {
  args: 2,
  isMany: true,
  parse: (call) => {
    const variable = settableVariable(call)
    const value = call.template(1)
    return variable === undefined || value === undefined ? undefined : { variable, value }
  },
})
