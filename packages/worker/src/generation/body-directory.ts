import { join } from 'node:path'
import type { Config } from '@svc/config'

/** Where bodies of requests wait that are too long for memory, in files without names. */
export function bodyDirectory({ server }: Pick<Config, 'server'>): string {
  return join(server.state_dir, 'bodies')
}
