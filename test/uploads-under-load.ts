import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer, request as httpRequest, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { Child, type Cleanup, type Server, startServer, svcCommand, tempSite } from '@svc/testkit'
import type { SiteProcess } from './site-unit.ts'

/** Files of a site whose handler takes uploads and tells a ledger of each that it begins, with its first bytes. */
export function uploadSite(t: Cleanup, ledger: UploadLedger): string {
  return tempSite(t, {
    'app/upload/route.ts': `export const POST = async (request: Request) => {
  const id = new URL(request.url).searchParams.get('id')
  const tell = (what: string) => fetch('http://${ledger.host}/' + what + '?id=' + id, { cache: 'no-store' })
  await tell('begun')
  let size = 0
  for await (const bytes of request.body ?? []) {
    if (size === 0) await tell('read')
    size += bytes.byteLength
  }
  return new Response('took ' + size)
}`,
    'app/page.tsx': "export const dynamic = 'force-dynamic'\nexport default function Page() { return <p>hello</p> }",
  })
}

/** Records the calls of the upload handler. */
export class UploadLedger {
  readonly host: string
  /** How often each upload was begun. */
  readonly begun = new Map<string, number>()
  readonly #read = new Map<string, PromiseWithResolvers<void>>()

  private constructor(host: string) {
    this.host = host
  }

  static async start(t: Cleanup): Promise<UploadLedger> {
    const server = createServer((request, response) => {
      ledger.#note(request)
      response.end('noted')
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    t.after(() => server.close())
    const ledger = new UploadLedger(`127.0.0.1:${(server.address() as AddressInfo).port}`)
    return ledger
  }

  /** Resolves when the handler has the first bytes of an upload. */
  firstBytes(id: string): Promise<void> {
    return this.#firstBytes(id).promise
  }

  #firstBytes(id: string): PromiseWithResolvers<void> {
    const found = this.#read.get(id) ?? Promise.withResolvers<void>()
    this.#read.set(id, found)
    return found
  }

  #note({ url = '' }: IncomingMessage): void {
    const { pathname, searchParams } = new URL(url, 'http://ledger')
    const id = searchParams.get('id') ?? ''
    if (pathname === '/begun') this.begun.set(id, (this.begun.get(id) ?? 0) + 1)
    else {
      this.#firstBytes(id).resolve()
    }
  }
}

/** An upload that a test sends piece by piece. */
export interface Upload {
  readonly id: string
  send(bytes: Uint8Array): Promise<void>
  /** Ends the body. Resolves with the status and the text of the answer. */
  end(): Promise<string>
}

let uploads = 0

/** Begins an upload without a declared length. */
export function beginUpload(server: Server, headers: Readonly<Record<string, string | number>> = {}): Upload {
  const id = String(++uploads)
  const answer = Promise.withResolvers<string>()
  const request = httpRequest(
    `${server.url}/upload?id=${id}`,
    { method: 'POST', agent: false, headers: { host: 'one.localhost', ...headers } },
    (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (data: string) => {
        text += data
      })
      const more = response.headers['retry-after'] === undefined ? '' : ' with retry-after'
      response.on('end', () => answer.resolve(`${response.statusCode}${more} ${text.slice(0, 100)}`))
    },
  )
  request.on('error', answer.reject)
  answer.promise.catch(() => undefined)
  if (headers['expect'] !== undefined) request.flushHeaders()
  return {
    id,
    async send(bytes) {
      // A server that has answered may take no more.
      if (!request.write(bytes)) await Promise.race([once(request, 'drain'), answer.promise])
    },
    end: () => {
      request.end()
      return answer.promise
    },
  }
}

const PAUSE_MS = 20
const PIECE = Buffer.alloc(64 * 1024, 'x')

type Sent = readonly [upload: Upload, answer: string, bytes: number]

/** Kinds of uploads: each sends one to its end. */
const kinds: Readonly<Record<string, (server: Server) => Promise<Sent>>> = {
  small: async (server) => {
    const upload = beginUpload(server, { 'content-length': 5 })
    await upload.send(Buffer.from('hello'))
    return [upload, await upload.end(), 5]
  },
  large: async (server) => {
    const upload = beginUpload(server, { 'content-length': PIECE.byteLength * 16 })
    for (let sent = 0; sent < 16; sent++) await upload.send(PIECE)
    return [upload, await upload.end(), PIECE.byteLength * 16]
  },
  chunked: async (server) => {
    const upload = beginUpload(server)
    for (let sent = 0; sent < 8; sent++) {
      await upload.send(PIECE)
      await new Promise((resolve) => setImmediate(resolve))
    }
    return [upload, await upload.end(), PIECE.byteLength * 8]
  },
  empty: async (server) => {
    const upload = beginUpload(server, { 'content-length': 0 })
    return [upload, await upload.end(), 0]
  },
  expect: async (server) => {
    const upload = beginUpload(server, { expect: '100-continue', 'content-length': 5 })
    await upload.send(Buffer.from('hello'))
    return [upload, await upload.end(), 5]
  },
}

/** Uploads of every kind, one after another in each of some clients, until it is stopped. */
export function startUploads(t: Cleanup, server: Server, ledger: UploadLedger, clients = 2) {
  const failures: string[] = []
  let done = 0
  let isStopping = false
  const run = async (kind: string, send: (server: Server) => Promise<Sent>) => {
    while (!isStopping) {
      try {
        const [{ id }, answer, size] = await send(server)
        const begun = ledger.begun.get(id) ?? 0
        if (answer !== `200 took ${size}` || begun !== 1) failures.push(`${kind}: ${answer}, begun ${begun} times`)
      } catch (error) {
        failures.push(`${kind}: ${error instanceof Error ? error.message : String(error)}`)
      }
      done++
      // At full speed the uploads would take the cores from the processes that the test waits for.
      await pause(PAUSE_MS)
    }
  }
  t.after(() => {
    isStopping = true
  })
  const running = Object.entries(kinds).flatMap(([kind, send]) => Array.from({ length: clients }, () => run(kind, send)))
  return {
    done: () => done,
    async stop() {
      isStopping = true
      await Promise.all(running)
      return { done, failures }
    },
  }
}

/** A server with a site that takes uploads. */
export async function openUploads(t: Cleanup, mode: SiteProcess = 'in-process', more = '') {
  const ledger = await UploadLedger.start(t)
  const root = uploadSite(t, ledger)
  const site = `id = "one"\nhostnames = ["one.localhost"]\nroot = "${root}"\nfetch_allow = ["${ledger.host}"]\nprocess = "${mode}"\n`
  const config = `[server]\nlisten = "127.0.0.1:0"\nworkers = 2\n\n[render]\ntimeout_ms = 30000\n${more}\n[[sites]]\n${site}`
  return { ledger, root, server: await startServer(t, { config }) }
}

/** Runs a command on a running server. */
export async function svc(t: Cleanup, server: Server, ...args: string[]): Promise<void> {
  const child = new Child(t, svcCommand, [...args, '--config', server.configFile ?? ''])
  assert.equal((await child.exited).code, 0, child.stderr)
}

/** Moves the site to another kind of process, by a reload. */
export async function move(t: Cleanup, server: Server, mode: SiteProcess): Promise<void> {
  const file = server.configFile ?? ''
  writeFileSync(file, readFileSync(file, 'utf8').replace(/process = ".*"/, `process = "${mode}"`))
  await svc(t, server, 'reload')
}
