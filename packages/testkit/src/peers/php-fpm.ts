import { userInfo } from 'node:os'
import { join } from 'node:path'
import { Child } from '../child.ts'
import { type Cleanup, tempDir, writeFiles } from '../temp-dir.ts'
import { untilAccepting } from './accepts.ts'

/** A PHP process manager of a test. */
export interface PhpPeer {
  readonly child: Child
  /** Unix socket that speaks FastCGI. */
  readonly socket: string
}

/** Starts php-fpm with two workers on a unix socket. `executable` comes from `requireProgram`. */
export async function startPhpFpm(t: Cleanup, executable: string): Promise<PhpPeer> {
  const dir = tempDir(t, 'php')
  const socket = join(dir, 'php.sock')
  const { username } = userInfo()
  writeFiles(dir, {
    'php-fpm.conf': `[global]
error_log = ${join(dir, 'php-fpm.log')}
daemonize = no
[www]
user = ${username}
listen = ${socket}
pm = static
pm.max_children = 2
clear_env = yes
`,
  })
  const asRoot = process.getuid?.() === 0 ? ['--allow-to-run-as-root'] : []
  const child = new Child(t, executable, ['--nodaemonize', '--fpm-config', join(dir, 'php-fpm.conf'), ...asRoot], {
    endSignal: 'SIGTERM',
  })
  await untilAccepting('php-fpm', { path: socket })
  return { child, socket }
}
