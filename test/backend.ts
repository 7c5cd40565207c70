import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  Child,
  type Cleanup,
  fetchHttp,
  type HttpAnswer,
  type HttpOptions,
  PROCESS_WAIT_MS,
  type ReadyLine,
  type Server as SvcServer,
  svcCommand,
  tempSite,
  waitFor,
} from '@svc/testkit'
import { adminToml } from '../packages/auth/test/admin-users.ts'

/** State of one name of a backend. */
interface Source {
  count: number
  isFailing: boolean
  /** Answers wait for this. */
  gate: Promise<void> | undefined
}

/**
 * A backend on loopback that the pages of a site ask: it counts their renders, and holds them back or fails them when a test
 * wants it to. The n-th answer of a name is n.
 */
export class Backend {
  readonly #server: Server
  readonly #sources = new Map<string, Source>()

  private constructor(server: Server) {
    this.#server = server
    server.on('request', (request, response) => {
      const source = this.#source((request.url ?? '/').slice(1))
      const answer = String(++source.count)
      const send = () => response.writeHead(source.isFailing ? 500 : 200).end(answer)
      if (source.gate === undefined) send()
      else source.gate.then(send, send)
    })
  }

  static async start(t: Cleanup): Promise<Backend> {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    t.after(() => {
      server.closeAllConnections()
      server.close()
    })
    return new Backend(server)
  }

  /** Address and port, as `fetch_allow` names it. */
  get host(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** How often a name was asked for. */
  count(name: string): number {
    return this.#source(name).count
  }

  /** Holds the answers of a name back, until the returned function is called. */
  hold(name: string): () => void {
    const { promise, resolve } = Promise.withResolvers<void>()
    const source = this.#source(name)
    source.gate = promise
    return () => {
      source.gate = undefined
      resolve()
    }
  }

  fail(name: string, isFailing: boolean): void {
    this.#source(name).isFailing = isFailing
  }

  /** Source of a page that shows what the backend says to a name: `<p>n</p>`. `before` stands before its function. */
  page(name: string, before = '', inside = ''): string {
    return `${before}
export default async function Page(props: any) {
  ${inside}
  const response = await fetch('http://${this.host}/${name}')
  if (!response.ok) throw new Error('the backend failed')
  return <p>{await response.text()}</p>
}
`
  }

  #source(name: string): Source {
    const known = this.#sources.get(name)
    if (known !== undefined) return known
    const source: Source = { count: 0, isFailing: false, gate: undefined }
    this.#sources.set(name, source)
    return source
  }
}

/** A site of a test: its files, and how it is named. */
export interface CountedSite {
  readonly id: string
  readonly hostnames?: readonly string[]
  readonly files: Readonly<Record<string, string>>
}

/** A configuration for sites that ask a backend, with the purge endpoints. `more` goes in front of the sites. */
export function configOf(t: Cleanup, backend: Backend, sites: readonly CountedSite[], more = ''): string {
  const tables = sites.map(({ id, hostnames = [`${id}.localhost`], files }) => {
    const root = tempSite(t, files)
    return `[[sites]]\nid = "${id}"\nroot = "${root}"\nhostnames = ${JSON.stringify(hostnames)}\nfetch_allow = ["${backend.host}"]\n`
  })
  return `[server]\nlisten = "127.0.0.1:0"\nworkers = 2\n\n${adminToml}\n${more}\n${tables.join('\n')}`
}

/** Number that a page of a backend showed. */
export function shown(text: string): number {
  return Number(/<p>(\d+)<\/p>/.exec(text)?.[1] ?? Number.NaN)
}

/** Sends requests to a server, each over a connection of its own, so that any worker may answer. */
export function client(server: SvcServer, host = 'one.localhost'): (path: string, options?: HttpOptions) => Promise<HttpAnswer> {
  return (path, options = {}) => fetchHttp(server.url + path, { host, ...options })
}

/** True if a response is stored: once its fill has ended, another request gets the same text. */
export async function isStored(get: ReturnType<typeof client>, path: string): Promise<boolean> {
  const first = await get(path)
  // The response is out before it is stored.
  const isFilled = async () => !/collapsed/.test(String((await get(path)).headers['cache-status']))
  await waitFor('the end of the fill', isFilled, PROCESS_WAIT_MS)
  return (await get(path)).text === first.text
}

/** Member of the ISR cache in Cache-Status. */
export function isr({ headers }: HttpAnswer): string {
  const members = String(headers['cache-status'] ?? '').split(', ')
  return members.find((member) => member.startsWith('svc-isr')) ?? ''
}

/** Stops a server and starts it again with the same configuration and directories. Its port may be another. */
export async function restart(t: Cleanup, server: SvcServer): Promise<SvcServer> {
  await server.child.stop()
  const args = ['serve', '--config', server.configFile ?? '']
  const child = new Child(t, svcCommand, args)
  const line = await child.waitForLine('ready line', (text) => text.startsWith('{"event":"ready"'))
  const ready = JSON.parse(line) as ReadyLine
  return { ...server, child, ready, url: ready.listen[0] ?? '' }
}
