import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pathToFileURL } from 'node:url'
import type { Cleanup } from '@svc/testkit'

/** A test of the suite. Those without a kind are required. */
export interface SuiteTest {
  readonly id: string
  readonly name: string
  readonly kind?: 'required' | 'optimal' | 'check'
  readonly browser_only?: boolean
  /** Tests without which this one says nothing. */
  readonly depends_on?: readonly string[]
}

/** A group of tests. */
export interface SuiteGroup {
  readonly id: string
  readonly name: string
  readonly tests: readonly SuiteTest[]
}

/** Result of a test: `true`, or the kind of failure and its message. */
export type SuiteResult = true | readonly [kind: string, message: string]

type Handler = (segments: string[], request: IncomingMessage, response: ServerResponse) => void

/** The files of the suite that are used: none of them imports anything from elsewhere. */
export class Suite {
  readonly #dir: string
  /** The runner keeps a list of all that it was ever given: each run gets one of its own. */
  #runs = 0

  constructor(dir: string) {
    this.#dir = dir
  }

  async groups(): Promise<readonly SuiteGroup[]> {
    const { default: groups } = await this.#load<{ default: SuiteGroup[] }>('tests/index.mjs')
    return groups
  }

  /** Starts the suite's origin on a loopback port. Resolves with its address. */
  async startOrigin(t: Cleanup): Promise<string> {
    const [config, test, state] = await Promise.all(
      ['config', 'test', 'state'].map((name) => this.#load<{ default: Handler }>(`server/handle-${name}.mjs`)),
    )
    const handlers = new Map([
      ['config', config?.default],
      ['test', test?.default],
      ['state', state?.default],
    ])
    const server = createServer((request, response) => {
      const [kind = '', ...segments] = new URL(request.url ?? '/', 'http://origin').pathname.split('/').slice(1)
      const handler = handlers.get(kind)
      if (handler === undefined) response.writeHead(404).end()
      else handler(segments, request, response)
    })
    // The suite judges what arrives; how long connections are kept is not its business.
    server.keepAliveTimeout = 60_000
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve)
    })
    t.after(() => {
      server.closeAllConnections()
      server.close()
    })
    return `127.0.0.1:${(server.address() as AddressInfo).port}`
  }

  /** Runs groups against a cache. */
  async run(groups: readonly SuiteGroup[], baseUrl: string): Promise<ReadonlyMap<string, SuiteResult>> {
    const { runTests } = await this.#load<{
      runTests: (groups: readonly SuiteGroup[], fetch: typeof globalThis.fetch, isBrowser: boolean, base: string) => Promise<void>
    }>(`client/runner.mjs?run=${++this.#runs}`)
    const { testResults } = await this.#load<{ testResults: Record<string, SuiteResult> }>('client/test.mjs')
    const wanted = groups.flatMap(({ tests }) => tests.map(({ id }) => id))
    // The suite remembers what it ran, takes no test twice, and writes dates into what it is given.
    for (const id of wanted) delete testResults[id]
    const { log } = console
    console.log = () => undefined
    try {
      await runTests(structuredClone(groups), globalThis.fetch, false, baseUrl)
    } finally {
      console.log = log
    }
    return new Map(Object.entries(testResults))
  }

  #load<Module>(file: string): Promise<Module> {
    return import(new URL(file, pathToFileURL(`${this.#dir}/`)).href) as Promise<Module>
  }
}
