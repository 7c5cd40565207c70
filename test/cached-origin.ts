import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Cleanup, tempDir, writeFiles } from '@svc/testkit'
import { adminToml } from '../packages/auth/test/admin-users.ts'

/** Answers the n-th request for a target. */
export type Answer = (request: IncomingMessage, response: ServerResponse, number: number) => void

/** An upstream on loopback that counts what it is asked for. */
export class CachedOrigin {
  readonly host: string
  /** A test that shares its server with others says here how its upstream answers. */
  answer: Answer
  readonly #counts = new Map<string, number>()

  private constructor(server: Server, answer: Answer) {
    this.host = `127.0.0.1:${(server.address() as AddressInfo).port}`
    this.answer = answer
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      const target = request.url ?? ''
      const number = this.count(target) + 1
      this.#counts.set(target, number)
      request.resume()
      this.answer(request, response, number)
    })
  }

  /** @param answer by default 404 */
  static async start(t: Cleanup, answer: Answer = (_request, response) => response.writeHead(404).end()): Promise<CachedOrigin> {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    t.after(() => {
      server.closeAllConnections()
      server.close()
    })
    return new CachedOrigin(server, answer)
  }

  /** How often a target was asked for. */
  count(target: string): number {
    return this.#counts.get(target) ?? 0
  }
}

/** A configuration with one server of a vhost file, a.localhost and b.localhost, that caches everything of an upstream. */
export function cachingConfig(t: Cleanup, origin: CachedOrigin, more = ''): string {
  return configOf(t, [serverOf(origin, '')], more)
}

/** A configuration with a server for each upstream, by its name: the hosts of "x" are a.x.localhost and b.x.localhost. */
export function sharedCachingConfig(t: Cleanup, origins: Readonly<Record<string, CachedOrigin>>, more = ''): string {
  const servers = Object.entries(origins).map(([name, origin]) => serverOf(origin, `${name}.`))
  return configOf(t, servers, more)
}

function serverOf({ host }: CachedOrigin, name: string): string {
  const location = `location / { proxy_pass http://${host}; proxy_http_version 1.1; proxy_cache on; gzip off; }`
  return `server { listen 127.0.0.1:0; svc_cache_status on; server_name a.${name}localhost b.${name}localhost; ${location} }`
}

function configOf(t: Cleanup, servers: readonly string[], more: string): string {
  const dir = tempDir(t, 'proxy-cache')
  writeFiles(dir, { 'web.conf': servers.join('\n') })
  return `[server]\nworkers = 2\nvhosts = ["${dir}/web.conf"]\n${adminToml}\n${more}`
}
