import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { type ServerProcess, startPinned } from '../lib/server-process.ts'
import { workDir } from './svc.ts'

const BINARY = ['/usr/sbin/php-fpm8.2', '/usr/sbin/php-fpm8.4', '/usr/sbin/php-fpm8.3'].find((path) => existsSync(path))

export const hasPhp = BINARY !== undefined

/** Directory of the script. */
export const phpRoot = join(workDir, 'php/www')

/** Starts php-fpm with a script `index.php` of 10 KB. Its URL is the address for `fastcgi_pass`. */
export async function startPhp(): Promise<ServerProcess> {
  const dir = join(workDir, 'php')
  mkdirSync(phpRoot, { recursive: true })
  writeFileSync(join(phpRoot, 'index.php'), "<?php echo str_repeat('0123456789abcdef', 640);\n")
  const socket = join(dir, 'php.sock')
  const file = join(dir, 'php-fpm.conf')
  writeFileSync(
    file,
    `[global]
error_log = ${join(dir, 'php-fpm.log')}
daemonize = no
[www]
user = ${userInfo().username}
listen = ${socket}
listen.mode = 0666
pm = static
pm.max_children = 4
`,
  )
  const asRoot = process.getuid?.() === 0 ? '--allow-to-run-as-root' : ''
  // Only its log says when it listens.
  const script = `rm -f ${socket}; ${BINARY} --nodaemonize --fpm-config ${file} ${asRoot} & trap "kill $!" TERM
until [ -S ${socket} ]; do sleep 0.05; done; echo listening; wait; wait`
  const ready = (output: string) => (output.includes('listening') ? `unix:${socket}` : undefined)
  return startPinned({ command: 'sh', args: ['-c', script], ready }, 2)
}
