import type { LocationSettings } from '@svc/config'
import type { RequestContext } from '../pipeline/request-context.ts'

/** What `auth_basic` says of a request. `refused`: no user, or a wrong password. */
export type AuthVerdict = 'passed' | 'refused' | 'no-file' | 'broken' | 'busy'

/** Checks credentials against files of passwords. */
export interface BasicAuth {
  /** @param userFile absolute path, one character for each byte */
  check(context: RequestContext, userFile: string): AuthVerdict | Promise<AuthVerdict>
}

/** `auth_basic` of a location that has it. */
export type AuthSettings = NonNullable<LocationSettings['authBasic']>
