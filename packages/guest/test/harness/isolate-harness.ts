import { createCipheriv, createDecipheriv, createHash, createHmac, randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { type Cleanup, tempDir } from '@svc/testkit'
import ivm from 'isolated-vm'
import {
  type BeginKind,
  type BeginRequest,
  Emit,
  type EmitKind,
  type EmittedError,
  type EmittedFacts,
  type EmittedHead,
  type GuestApi,
  type GuestSettings,
  type HostOperation,
} from '../../src/contract/isolate.ts'
import { compileForTest } from './compile-for-test.ts'
import { Settled } from './settled.ts'

/** One line of the site's log. */
export interface LogLine {
  readonly level: string
  readonly requestNumber: number
  readonly text: string
}

/** Everything that a request emitted. */
export class Answer {
  readonly ended = new Settled<void>()
  readonly pieces: (string | Uint8Array)[] = []
  readonly handled: EmittedError[] = []
  head: EmittedHead | undefined
  facts: EmittedFacts | undefined
  error: EmittedError | undefined
  verdict: Record<string, unknown> | undefined
  isComplete = false

  get text(): string {
    return this.pieces.map((piece) => (typeof piece === 'string' ? piece : Buffer.from(piece).toString())).join('')
  }
}

const hashNames: Readonly<Record<string, string>> = {
  'SHA-1': 'sha1',
  'SHA-256': 'sha256',
  'SHA-384': 'sha384',
  'SHA-512': 'sha512',
}

type Argument = Record<string, string>
const fromBase64 = (text: string | undefined) => Buffer.from(text ?? '', 'base64')

/** Crypto operations of the boundary with Node's own. */
function compute(operation: HostOperation, argument: Argument, data: Buffer): Buffer {
  if (operation === 'digest')
    return createHash(hashNames[argument.algorithm ?? ''] ?? '')
      .update(data)
      .digest()
  if (operation === 'hmac')
    return createHmac(hashNames[argument.hash ?? ''] ?? '', fromBase64(argument.key))
      .update(data)
      .digest()
  const key = fromBase64(argument.key)
  const name = `aes-${key.length * 8}-gcm` as 'aes-128-gcm'
  const authTagLength = Number(argument.tagLength) / 8
  const additional = fromBase64(argument.additionalData)
  if (argument.direction === 'encrypt') {
    const cipher = createCipheriv(name, key, fromBase64(argument.iv), { authTagLength }).setAAD(additional)
    return Buffer.concat([cipher.update(data), cipher.final(), cipher.getAuthTag()])
  }
  const decipher = createDecipheriv(name, key, fromBase64(argument.iv), { authTagLength }).setAAD(additional)
  decipher.setAuthTag(data.subarray(data.length - authTagLength))
  return Buffer.concat([decipher.update(data.subarray(0, data.length - authTagLength)), decipher.final()])
}

function exact(bytes: Uint8Array): ArrayBuffer {
  return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) as ArrayBuffer
}

const settingsOfTests: GuestSettings = { site: 'test', mode: 'production', env: { NODE_ENV: 'production', GREETING: 'hello' } }
const defaults: BeginRequest = {
  requestId: 'r1',
  method: 'GET',
  url: 'http://site.test/path?q=1',
  headers: [],
  params: {},
  remoteAddress: '127.0.0.1',
  mayStream: true,
  hasBody: false,
}

/** How long a request or a call of a test may take: it ends what hangs, and a loaded machine must not reach it. */
const DEADLINE_MS = 60_000

/** The built guest in a real isolate, with a host on Node's own facilities. */
export class IsolateHarness {
  readonly log: LogLine[] = []
  readonly background: Error[] = []
  /** Purges by code of the site, one for each order. */
  readonly purges: unknown[] = []
  /** The request that each fetch named. */
  readonly fetchedFor: number[] = []
  readonly #isolate: ivm.Isolate
  readonly #context: ivm.Context
  readonly #answers = new Map<number, Answer>()
  readonly #timers = new Map<number, NodeJS.Timeout>()
  readonly #fetches = new Map<number, AbortController>()
  readonly #api = new Map<string, ivm.Reference>()
  #lastNumber = 0

  private constructor(isolate: ivm.Isolate, context: ivm.Context) {
    this.#isolate = isolate
    this.#context = context
  }

  /** Starts an isolate from the snapshot in `dir` (or, without one, from the script). Disposed when the test ends. */
  static async start(
    t: Cleanup,
    dir: string,
    options: { snapshot?: boolean; settings?: Partial<GuestSettings>; memoryLimitMb?: number; exposeGc?: boolean } = {},
  ) {
    const memoryLimit = options.memoryLimitMb ?? 128
    const image = options.snapshot === false ? undefined : await readFile(join(dir, 'guest.snapshot'))
    if (options.exposeGc === true) setFlagsFromString('--expose-gc')
    const isolate = new ivm.Isolate(
      image === undefined ? { memoryLimit } : { memoryLimit, snapshot: new ivm.ExternalCopy(exact(image)) },
    )
    const context = await isolate.createContext()
    if (image === undefined) await context.eval(await readFile(join(dir, 'guest.js'), 'utf8'), { filename: 'svc:guest' })
    const harness = new IsolateHarness(isolate, context)
    t.after(() => harness.#close())
    await harness.#install()
    await harness.enter('configure', JSON.stringify({ ...settingsOfTests, ...options.settings }))
    return harness
  }

  #close(): void {
    for (const timer of this.#timers.values()) clearTimeout(timer)
    for (const controller of this.#fetches.values()) controller.abort()
    if (!this.#isolate.isDisposed) this.#isolate.dispose()
  }

  async #install(): Promise<void> {
    const later = (task: (...args: never[]) => void) => new ivm.Callback(task as (...args: unknown[]) => void, { ignored: true })
    const callbacks = [
      later((number: number, kind: EmitKind, a: string, b: string | ArrayBuffer) => this.#emitted(number, kind, a, b)),
      later((id: number, operation: HostOperation, json: string, bytes?: ArrayBuffer) =>
        this.#called(id, operation, json, bytes),
      ),
      later((id: number, delayMs: number) => this.#setTimer(id, delayMs)),
      later((id: number) => this.#clearTimer(id)),
      later((level: string, requestNumber: number, text: string) => void this.log.push({ level, requestNumber, text })),
      new ivm.Callback((count: number) => exact(randomBytes(count)), { sync: true }),
    ]
    const names = ['emit', 'call', 'setTimer', 'clearTimer', 'log', 'randomBytes']
    await this.#context.evalClosure(`__svc.install({ ${names.map((name, i) => `${name}: $${i}`).join(', ')} })`, callbacks)
    const api = await this.#context.global.get('__svc', { reference: true })
    for (const name of Object.keys(apiNames)) this.#api.set(name, await api.get(name as never, { reference: true }))
    await this.#context.global.delete('__svc')
  }

  /** Calls a function of the guest; what it throws is a background rejection of the site. */
  async enter(name: keyof GuestApi, ...args: unknown[]): Promise<void> {
    const values = args.map((value) =>
      value instanceof ArrayBuffer ? new ivm.ExternalCopy(value).copyInto({ release: true }) : value,
    )
    try {
      await this.#api.get(name)?.apply(undefined, values, { timeout: DEADLINE_MS })
    } catch (error) {
      this.background.push(error as Error)
    }
  }

  #setTimer(id: number, delayMs: number): void {
    this.#timers.set(
      id,
      setTimeout(() => {
        this.#timers.delete(id)
        void this.enter('fire', id)
      }, delayMs),
    )
  }

  #clearTimer(id: number): void {
    clearTimeout(this.#timers.get(id))
    this.#timers.delete(id)
  }

  get timerCount(): number {
    return this.#timers.size
  }

  #emitted(number: number, kind: EmitKind, a: string, b: string | ArrayBuffer): void {
    const answer = this.#answers.get(number)
    if (answer === undefined) return
    if (kind === Emit.head || kind === Emit.complete) answer.head = JSON.parse(a) as EmittedHead
    if (kind === Emit.complete) {
      answer.facts = answer.head?.facts
      answer.isComplete = true
    }
    if (b !== undefined || kind === Emit.complete)
      answer.pieces.push(b instanceof ArrayBuffer ? new Uint8Array(b) : (b as string))
    if (kind === Emit.finished) answer.facts = JSON.parse(a) as EmittedFacts
    if (kind === Emit.failed) answer.error = JSON.parse(a) as EmittedError
    if (kind === Emit.handled) answer.handled.push(JSON.parse(a) as EmittedError)
    if (kind === Emit.verdict) answer.verdict = JSON.parse(a) as Record<string, unknown>
    const isEnd = kind === Emit.complete || kind === Emit.finished || kind === Emit.failed || kind === Emit.verdict
    if (!isEnd) return
    this.#answers.delete(number)
    answer.ended.resolve()
  }

  #called(id: number, operation: HostOperation, json: string, bytes: ArrayBuffer | undefined): void {
    const argument = JSON.parse(json) as Argument
    if (operation === 'fetch') void this.#fetch(id, argument as never, bytes)
    else if (operation === 'fetch-abort') this.#fetches.get(Number(argument.callId))?.abort()
    else if (operation === 'data-read') void this.enter('settle', id, true, '{"kind":"pass"}', undefined, true)
    else if (operation === 'purge') {
      this.purges.push(JSON.parse(json))
      void this.enter('settle', id, true, '{}', undefined, true)
    } else {
      try {
        const result = compute(operation, argument, Buffer.from(bytes ?? new ArrayBuffer(0)))
        void this.enter('settle', id, true, '{}', exact(result), true)
      } catch (error) {
        void this.#fail(id, error)
      }
    }
  }

  #fail(id: number, error: unknown): Promise<void> {
    const { name, message } = error as Error
    return this.enter('settle', id, false, JSON.stringify({ name, message, stack: '' }), undefined, true)
  }

  async #fetch(
    id: number,
    argument: { requestNumber: number; url: string; method: string; headers: [string, string][]; redirect: 'follow' },
    body?: ArrayBuffer,
  ) {
    const controller = new AbortController()
    this.#fetches.set(id, controller)
    const { method, headers, redirect } = argument
    this.fetchedFor.push(argument.requestNumber)
    try {
      const response = await fetch(argument.url, {
        method,
        headers,
        redirect,
        signal: controller.signal,
        ...(body === undefined ? {} : { body }),
      })
      const { status, statusText, url, redirected } = response
      const fields = [...response.headers]
      await this.enter(
        'settle',
        id,
        true,
        JSON.stringify({ status, statusText, headers: fields, url, redirected }),
        undefined,
        false,
      )
      if (response.body !== null)
        for await (const chunk of response.body) await this.enter('settle', id, true, '', exact(chunk as Uint8Array), false)
      await this.enter('settle', id, true, '', undefined, true)
    } catch (error) {
      await this.#fail(id, error)
    } finally {
      this.#fetches.delete(id)
    }
  }

  get fetchCount(): number {
    return this.#fetches.size
  }

  /** Brings an already compiled module in. `code` is an expression (esm, cjs) or the text (json, css). */
  async defineCode(
    id: string,
    format: 'esm' | 'cjs' | 'json' | 'css',
    dependencies: Readonly<Record<string, string>>,
    code: string,
  ): Promise<void> {
    if (format === 'json' || format === 'css') {
      await this.enter('define', id, format, JSON.stringify(dependencies), code)
      return
    }
    const script = await this.#isolate.compileScript(code, { filename: id })
    const factory = await script.run(this.#context, { reference: true })
    await this.enter('define', id, format, JSON.stringify(dependencies), factory.derefInto({ release: true }))
  }

  /**
   * Compiles a source (TS, TSX or ESM by its extension; CommonJS for `.cjs`; JSON) and defines it. Relative specifiers are
   * taken as ids beside it, with the extension written out; names in `guestBuiltins` are built in.
   */
  async define(id: string, source: string): Promise<void> {
    const { format, dependencies, code } = compileForTest(id, source)
    await this.defineCode(id, format, dependencies, code)
  }

  /** Starts a request and returns what it emits, without waiting. */
  begin(
    kind: BeginKind,
    routeId: string,
    request: Partial<BeginRequest> & Record<string, unknown> = {},
  ): { number: number; answer: Answer } {
    const number = ++this.#lastNumber
    const answer = new Answer()
    this.#answers.set(number, answer)
    void this.enter('begin', number, kind, routeId, JSON.stringify(kind === 'inspect' ? request : { ...defaults, ...request }))
    return { number, answer }
  }

  /** Starts a request and waits for its end. */
  async run(kind: BeginKind, routeId: string, request: Partial<BeginRequest> & Record<string, unknown> = {}): Promise<Answer> {
    const { answer } = this.begin(kind, routeId, request)
    await answer.ended.within(DEADLINE_MS, `end of ${kind} ${routeId}`)
    return answer
  }

  /**
   * Defines `source` as a module and returns its `config` export, as `inspect` reports it: the shortest way to run code of a
   * site and to see plain data of it. Throws what the module throws.
   */
  async evaluate(source: string, id = '/site/evaluated.ts'): Promise<unknown> {
    await this.define(id, source)
    const answer = await this.run('inspect', '', { modules: [id] })
    if (answer.error !== undefined)
      throw Object.assign(new Error(answer.error.message), { name: answer.error.name, stack: answer.error.stack })
    return answer.facts?.modules?.[id]?.config
  }

  /** Like `evaluate`, for code with `await`: the body of an async function, whose result comes back as JSON. */
  async evaluateAsync(body: string, request: Partial<BeginRequest> = {}): Promise<unknown> {
    const id = '/site/evaluated-route.ts'
    await this.define(id, `export async function GET(request) {\n${body}\n}`)
    return await this.runHandler(id, request)
  }

  /** Runs a module's GET on the runner for handlers; the JSON of its answer comes back. */
  async runHandler(id: string, request: Partial<BeginRequest> = {}): Promise<unknown> {
    const route = {
      id: `handler:${id}`,
      pattern: '/',
      segments: [],
      kind: 'handler',
      file: id,
      tree: null,
      metadata: null,
      slotParams: [],
    }
    await this.enter('defineRoute', JSON.stringify(route))
    const answer = await this.run('handler', route.id, request)
    if (answer.error !== undefined)
      throw Object.assign(new Error(answer.error.message), { name: answer.error.name, stack: answer.error.stack })
    return answer.text === '' ? undefined : JSON.parse(answer.text)
  }

  /** Bytes in use after a full collection; needs `exposeGc` at the start. */
  async settledHeapBytes(): Promise<number> {
    await this.#context.eval('gc(); gc()')
    const { used_heap_size, externally_allocated_size } = await this.#isolate.getHeapStatistics()
    return used_heap_size + externally_allocated_size
  }
}

const apiNames = {
  configure: 0,
  define: 0,
  defineRoute: 0,
  forgetRoutes: 0,
  evict: 0,
  begin: 0,
  bodyChunk: 0,
  abort: 0,
  resume: 0,
  hold: 0,
  fire: 0,
  settle: 0,
} satisfies Partial<Record<keyof GuestApi, 0>>

async function buildGuest(t: Cleanup): Promise<string> {
  const outDir = tempDir(t, 'svc-guest-build')
  const { buildGuest: build } = (await import('../../build/guest.mjs' as string)) as {
    buildGuest(options: { outDir: string; nodeBinary: string }): Promise<void>
  }
  await build({ outDir, nodeBinary: process.execPath })
  return outDir
}

let built: Promise<string> | undefined

/** Builds the guest, once per process. @returns its directory, which is deleted when the process exits */
export function buildGuestForTest(t: Cleanup): Promise<string> {
  built ??= buildGuest(t)
  return built
}
