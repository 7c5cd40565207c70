import { join } from 'node:path'
import { Child } from '../processes/child.ts'
import { type Cleanup, tempDir, writeFiles } from '../processes/temp-dir.ts'
import { untilAccepting } from './accepts.ts'

/** An nginx of a test. */
export interface NginxPeer {
  readonly child: Child
  /** Unix socket of the one server block that tests address. */
  readonly socket: string
}

/** Every kind of temporary file of nginx, kept inside the test's directory. */
const TEMP_PATHS = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${name};`).join(' ')

/**
 * Starts nginx with these directives inside one `server` block that listens on a unix socket. `executable` comes from
 * `requireProgram`.
 */
export async function startNginx(t: Cleanup, executable: string, serverDirectives: string): Promise<NginxPeer> {
  const dir = tempDir(t, 'nginx')
  const socket = join(dir, 'nginx.sock')
  writeFiles(dir, {
    'nginx.conf': `daemon off; worker_processes 1; pid nginx.pid; error_log stderr warn;
events { worker_connections 256; }
http { access_log off; ${TEMP_PATHS}
  server { listen unix:${socket}; ${serverDirectives} } }
`,
  })
  const child = new Child(t, executable, ['-p', dir, '-e', 'stderr', '-c', join(dir, 'nginx.conf')], { endSignal: 'SIGTERM' })
  await untilAccepting('nginx', { path: socket })
  return { child, socket }
}
