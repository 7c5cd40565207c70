import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type ServerProcess, startPinned } from '../lib/server-process.ts'
import { freePort } from './nginx.ts'
import { workDir } from './svc.ts'

const BINARY = '/usr/sbin/varnishd'

export const hasVarnish = existsSync(BINARY)

/** Starts Varnish with one thread pool that caches all responses of an upstream in memory. */
export async function startVarnish(upstream: string): Promise<ServerProcess> {
  const dir = join(workDir, 'varnish')
  rmSync(dir, { recursive: true, force: true })
  mkdirSync(dir, { recursive: true })
  const port = await freePort()
  const { hostname, port: upstreamPort } = new URL(upstream)
  const file = join(dir, 'cache.vcl')
  writeFileSync(
    file,
    `vcl 4.1;
backend origin { .host = "${hostname}"; .port = "${upstreamPort}"; }
sub vcl_backend_response { set beresp.ttl = 1h; unset beresp.http.cache-control; }
`,
  )
  const args = ['-F', '-n', join(dir, 'state'), '-a', `127.0.0.1:${port}`, '-f', file, '-s', 'malloc,256m']
  const isReady = (output: string) =>
    /Child launched OK|said Child starts/.test(output) ? `http://127.0.0.1:${port}` : undefined
  return startPinned({ command: BINARY, args: [...args, '-p', 'thread_pools=1'], ready: isReady })
}
