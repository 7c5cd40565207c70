import { systemClock } from '@svc/core'
import { FileAuth } from './passwords/file-auth.ts'
import { PasswordCheck } from './passwords/password-check.ts'
import { PasswordThread } from './passwords/password-thread.ts'
import { type VhostParts, VhostRuntimes } from './vhost-runtime.ts'

/** What the servers of vhost files are made with. */
export interface VhostOptions extends Omit<VhostParts, 'basicAuth'> {
  /** Program of the thread that checks passwords. */
  readonly passwordThread: URL
}

/** Makes the servers of all generations. */
export function createVhosts({ passwordThread, ...parts }: VhostOptions): VhostRuntimes {
  const basicAuth = new FileAuth(new PasswordCheck(new PasswordThread(passwordThread), systemClock))
  return new VhostRuntimes({ ...parts, basicAuth })
}
