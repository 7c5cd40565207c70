import { join } from 'node:path'
import { Child } from '../processes/child.ts'
import { type Cleanup, tempDir, writeFiles } from '../processes/temp-dir.ts'
import { untilAccepting } from './accepts.ts'

/** A uWSGI server of a test with one application. */
export interface UwsgiPeer {
  /** Addresses in the form of `uwsgi_pass` and `scgi_pass`. */
  readonly uwsgi: string
  readonly scgi: string
}

/**
 * Starts uWSGI. `executable` comes from `requireProgram`.
 * @param application Python source with a function `application` (PEP 3333)
 */
export async function startUwsgi(t: Cleanup, executable: string, application: string): Promise<UwsgiPeer> {
  const dir = tempDir(t, 'uwsgi')
  const [uwsgi, scgi] = [join(dir, 'uwsgi.sock'), join(dir, 'scgi.sock')]
  writeFiles(dir, { 'app.py': application })
  const sockets = ['--uwsgi-socket', uwsgi, '--scgi-socket', scgi]
  const app = ['--plugin', 'python3', '--wsgi-file', join(dir, 'app.py'), '--need-app']
  new Child(t, executable, [...sockets, ...app, '--die-on-term', '--buffer-size', '65535'], { endSignal: 'SIGTERM' })
  for (const path of [uwsgi, scgi]) await untilAccepting('uwsgi', { path })
  return { uwsgi: `unix:${uwsgi}`, scgi: `unix:${scgi}` }
}
