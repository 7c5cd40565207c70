import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Cleanup, tempDir, writeFiles } from '@svc/testkit'
import { adminToml } from '../packages/auth/test/admin-users.ts'

/** Answers the n-th request for a target. */
export type Answer = (request: IncomingMessage, response: ServerResponse, number: number) => void

/** An upstream on loopback that counts what it is asked for. */
export class CachedOrigin {
  readonly host: string
  readonly #counts: Map<string, number>

  private constructor(host: string, counts: Map<string, number>) {
    this.host = host
    this.#counts = counts
  }

  static async start(t: Cleanup, answer: Answer): Promise<CachedOrigin> {
    const counts = new Map<string, number>()
    const server = createServer((request, response) => {
      const target = request.url ?? ''
      const number = (counts.get(target) ?? 0) + 1
      counts.set(target, number)
      request.resume()
      answer(request, response, number)
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    t.after(() => {
      server.closeAllConnections()
      server.close()
    })
    return new CachedOrigin(`127.0.0.1:${(server.address() as AddressInfo).port}`, counts)
  }

  /** How often a target was asked for. */
  count(target: string): number {
    return this.#counts.get(target) ?? 0
  }
}

/** A configuration with one server of a vhost file that caches everything of an upstream. */
export function cachingConfig(t: Cleanup, origin: CachedOrigin, more = ''): string {
  const dir = tempDir(t, 'proxy-cache')
  const location = `location / { proxy_pass http://${origin.host}; proxy_http_version 1.1; proxy_cache on; gzip off; }`
  writeFiles(dir, { 'web.conf': `server { listen 127.0.0.1:0; server_name a.localhost b.localhost; ${location} }` })
  return `[server]\nworkers = 2\nvhosts = ["${dir}/web.conf"]\n${adminToml}\n${more}`
}
