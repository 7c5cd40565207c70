import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { tempSite } from '@svc/testkit'
import { HostInstance } from '../host-instance.ts'
import type { HostOptions } from '../host-process.ts'

/** A back end whose every answer is a new one. */
export class Backend {
  count = 0
  /** Requests that wait for `release`. */
  readonly held: (() => void)[] = []
  isHolding = false
  answer: (response: ServerResponse, text: string) => void = (response, text) => response.end(text)
  url = ''

  static async start(t: TestContext): Promise<Backend> {
    const backend = new Backend()
    const server = createServer((request, response) => backend.#take(request, response))
    t.after(() => {
      server.closeAllConnections()
      server.close()
    })
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve)
    })
    backend.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    return backend
  }

  release(): void {
    this.isHolding = false
    for (const go of this.held.splice(0)) go()
  }

  #take(request: IncomingMessage, response: ServerResponse): void {
    const text = `answer ${++this.count} to ${request.url}`
    const go = () => this.answer(response, text)
    request.resume()
    if (this.isHolding) this.held.push(go)
    else go()
  }
}

/** A route handler that answers with the text of a fetch. */
export const fetching = (url: string, init: string) =>
  `export const GET = async () => new Response(await (await fetch(${JSON.stringify(url)}, ${init})).text())`

/** Options of a data-cache test, besides the files of its site. */
export interface OpenOptions extends Pick<HostOptions, 'swrMs' | 'render'> {
  /** Sites of these files. @default one, "a" */
  readonly ids?: readonly string[]
}

/** A back end, and an instance with one host that serves sites of these files. */
export async function openData(
  t: TestContext,
  files: (backend: Backend) => Readonly<Record<string, string>>,
  { ids = ['a'], ...more }: OpenOptions = {},
) {
  const backend = await Backend.start(t)
  const root = tempSite(t, files(backend))
  const instance = new HostInstance(t)
  const options = { ...more, sites: ids.map((id) => ({ id, root, fetch_allow_local: true })) }
  const host = await instance.start(options)
  const get = async (path: string, on = host, site = 'a') => (await on.render(site, path)).text
  return { backend, instance, options, host, get }
}
