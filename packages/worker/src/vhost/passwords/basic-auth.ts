import type { LocationSettings, ServerSpec } from '@svc/vhosts'
import type { RequestContext } from '../../request/request-context.ts'

/** What `auth_basic` says of a request. `refused`: no user, or a wrong password. `limited`: its client guessed wrong too often. */
export type AuthVerdict = 'passed' | 'refused' | 'no-file' | 'broken' | 'busy' | 'limited'

/** Time after which a client that guessed wrong too often may guess once more. */
export const GUESS_RECOVERY_SECONDS = 3

/** Checks credentials against files of passwords. */
export interface BasicAuth {
  /**
   * @param userFile absolute path, one character for each byte
   * @param server that is asked: none delays the users of another
   */
  check(context: RequestContext, userFile: string, server: ServerSpec): AuthVerdict | Promise<AuthVerdict>
}

/** `auth_basic` of a location that has it. */
export type AuthSettings = NonNullable<LocationSettings['authBasic']>
