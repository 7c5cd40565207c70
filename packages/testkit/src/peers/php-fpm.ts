import { userInfo } from 'node:os'
import { join } from 'node:path'
import { Child } from '../processes/child.ts'
import { type Cleanup, tempDir, writeFiles } from '../processes/temp-dir.ts'
import { untilAccepting } from './accepts.ts'

/** A PHP process manager of a test. */
export interface PhpPeer {
  readonly child: Child
  /** Unix socket that speaks FastCGI; "" over TCP. */
  readonly socket: string
  /** Its listen address in the form of `fastcgi_pass`. */
  readonly address: string
}

/** Settings of a test. */
export interface PhpOptions {
  /** Processes that serve requests. @default 2 */
  readonly maxChildren?: number
  /** Listens on a loopback address in place of a unix socket. */
  readonly isTcp?: boolean
  /** Further lines of the pool. */
  readonly settings?: string
}

const PORT = 9000

/** php-fpm takes no port 0: an address of the loopback network stands in for it that is this process's own. */
function ownLoopback(): string {
  const { pid } = process
  return `127.${1 + ((pid >> 16) & 0x3f)}.${(pid >> 8) & 0xff}.${pid & 0xff}`
}

/** Starts php-fpm. `executable` comes from `requireProgram`. */
export async function startPhpFpm(t: Cleanup, executable: string, options: PhpOptions = {}): Promise<PhpPeer> {
  const dir = tempDir(t, 'php')
  const socket = options.isTcp === true ? '' : join(dir, 'php.sock')
  const host = ownLoopback()
  const { username } = userInfo()
  writeFiles(dir, {
    'php-fpm.conf': `[global]
error_log = ${join(dir, 'php-fpm.log')}
daemonize = no
[www]
user = ${username}
listen = ${socket === '' ? `${host}:${PORT}` : socket}
pm = static
pm.max_children = ${options.maxChildren ?? 2}
clear_env = yes
php_admin_value[session.save_path] = ${dir}
${options.settings ?? ''}
`,
  })
  const asRoot = process.getuid?.() === 0 ? ['--allow-to-run-as-root'] : []
  const child = new Child(t, executable, ['--nodaemonize', '--fpm-config', join(dir, 'php-fpm.conf'), ...asRoot], {
    endSignal: 'SIGTERM',
  })
  await untilAccepting('php-fpm', socket === '' ? { port: PORT, host } : { path: socket })
  return { child, socket, address: socket === '' ? `${host}:${PORT}` : `unix:${socket}` }
}
