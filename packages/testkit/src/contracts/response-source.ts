import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { HeaderList, ResponseHead, ResponseSink, ResponseSource } from '@svc/http'
import { waitFor } from '../processes/wait-for.ts'

/** The far end of a source: produces one response as the suite says. */
export interface ResponseScript {
  head(status: number): void
  chunk(bytes: Buffer): void
  end(): void
  /** Head, body and end in one go. */
  whole(status: number, body: Buffer): void
  /** Breaks off before the end. */
  breakOff(): void
  /** True if the far end knows that the response was aborted. */
  isAborted(): boolean
}

/** A source that the suite tests. */
export interface SourceUnderTest {
  /** Requests a response into the sink. Resolves when the far end has the request. */
  start(t: TestContext, sink: ResponseSink<unknown>): Promise<ResponseScript>
  /** Most bytes that still come after `chunk` returned false. */
  readonly maxAheadBytes: number
  /** False: if the sink aborts after the head, the response continues for other readers. @default true */
  readonly endsWithClient?: boolean
}

type Call = 'attach' | 'informational' | 'whole' | 'head' | 'chunk' | 'end' | 'fail'

/** Notes each call, and checks the order that the interface promises. */
class CheckingSink implements ResponseSink<unknown> {
  readonly calls: Call[] = []
  readonly #bytes: Buffer[] = []
  status = 0
  length: number | undefined
  error: (Error & { readonly status?: number }) | undefined
  source: ResponseSource | undefined
  /** The call in which the sink aborts. */
  abortIn: Call | undefined
  /** Answers `chunk`. */
  takesMore: () => boolean = () => true
  #isAborted = false

  attach(source: ResponseSource): void {
    this.source = source
    this.#called('attach')
  }

  informational(_head: ResponseHead): void {
    this.#called('informational')
  }

  whole(head: ResponseHead, body: Uint8Array): void {
    this.status = head.status
    this.#bytes.push(Buffer.from(body))
    this.#called('whole')
  }

  head(head: ResponseHead, length: number | undefined): void {
    this.status = head.status
    this.length = length
    this.#called('head')
  }

  chunk(bytes: Uint8Array): boolean {
    assert.ok(bytes.byteLength > 0, 'a chunk of nothing')
    this.#bytes.push(Buffer.from(bytes))
    this.#called('chunk')
    return this.takesMore()
  }

  end(trailers: HeaderList): void {
    assert.ok(Array.isArray(trailers))
    this.#called('end')
  }

  fail(error: Error): void {
    this.error = error
    this.#called('fail')
  }

  get body(): Buffer {
    return Buffer.concat(this.#bytes)
  }

  get byteLength(): number {
    return this.#bytes.reduce((sum, { byteLength }) => sum + byteLength, 0)
  }

  get hasEnded(): boolean {
    return this.calls.some((call) => call === 'whole' || call === 'end' || call === 'fail')
  }

  abort(): void {
    this.#isAborted = true
    this.source?.abort()
  }

  #called(call: Call): void {
    assert.ok(!this.#isAborted, `${call} after abort`)
    assert.ok(!this.hasEnded, `${call} after the last call`)
    const hasHead = this.calls.includes('head')
    assert.ok(call === 'attach' || this.source !== undefined, `${call} before attach`)
    assert.ok(!hasHead || !['attach', 'informational', 'whole', 'head'].includes(call), `${call} after the head`)
    assert.ok(hasHead || (call !== 'chunk' && call !== 'end'), `${call} before the head`)
    this.calls.push(call)
    if (call === this.abortIn) this.abort()
  }
}

/** Settles all work in progress in this process and between it and the system. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve))
}

const TOTAL_BYTES = 4 << 20
const CHUNK_BYTES = 64 << 10

function chunkOf(index: number): Buffer {
  return Buffer.alloc(CHUNK_BYTES, index % 251)
}

const ended = (sink: CheckingSink) => waitFor('the last call to the sink', () => sink.hasEnded)

/** Tests that a source keeps the promises of `ResponseSink` and `ResponseSource`. */
export function responseSourceContract(name: string, source: SourceUnderTest): void {
  testArrival(name, source)
  testBackPressure(name, source)
  testAborts(name, source)
  testEnds(name, source)
}

function testArrival(name: string, { start }: SourceUnderTest): void {
  test(`${name}: a response arrives in order, its source attached first`, async (t) => {
    const sink = new CheckingSink()
    const far = await start(t, sink)
    assert.equal(sink.calls[0], 'attach')
    far.head(201)
    await waitFor('the head', () => sink.status === 201)
    far.chunk(Buffer.from('one '))
    await waitFor('the first chunk', () => sink.byteLength === 4)
    far.chunk(Buffer.from('two'))
    far.end()
    await ended(sink)
    assert.equal(sink.body.toString(), 'one two')
    assert.equal(sink.calls.at(-1), 'end')
  })

  test(`${name}: a response that is there at once arrives whole, however it is called`, async (t) => {
    const sink = new CheckingSink()
    const far = await start(t, sink)
    far.whole(203, Buffer.from('all of it'))
    await ended(sink)
    assert.deepEqual([sink.status, sink.body.toString(), sink.error], [203, 'all of it', undefined])
  })
}

function testBackPressure(name: string, { start, maxAheadBytes }: SourceUnderTest): void {
  test(`${name}: a sink that is full gets a bounded amount more, and everything once it resumes`, async (t) => {
    const sink = new CheckingSink()
    let isOpen = false
    sink.takesMore = () => isOpen
    const far = await start(t, sink)
    far.head(200)
    for (let index = 0; index < TOTAL_BYTES / CHUNK_BYTES; index++) far.chunk(chunkOf(index))
    far.end()
    await waitFor('the first chunk', () => sink.byteLength > 0)
    await settle()
    assert.ok(sink.byteLength <= CHUNK_BYTES + maxAheadBytes, `${sink.byteLength} bytes came to a sink that was full`)
    // Full again at every other chunk from now on.
    let count = 0
    sink.takesMore = () => {
      if (count++ % 2 === 0) return true
      setImmediate(() => sink.source?.resume())
      return false
    }
    isOpen = true
    sink.source?.resume()
    await ended(sink)
    assert.equal(sink.error, undefined)
    assert.equal(sink.byteLength, TOTAL_BYTES)
    const { body } = sink
    for (let index = 0; index < TOTAL_BYTES / CHUNK_BYTES; index++) {
      assert.ok(body.subarray(index * CHUNK_BYTES, (index + 1) * CHUNK_BYTES).equals(chunkOf(index)), `piece ${index}`)
    }
  })
}

function testAborts(name: string, { start, endsWithClient = true }: SourceUnderTest): void {
  for (const call of ['head', 'chunk'] as const) {
    test(`${name}: nothing follows where the sink aborts in ${call}`, async (t) => {
      const sink = new CheckingSink()
      sink.abortIn = call
      const far = await start(t, sink)
      far.head(200)
      far.chunk(Buffer.from('never to be finished'))
      await waitFor(`the ${call}`, () => sink.calls.includes(call))
      if (endsWithClient) await waitFor('the abort at the far end', () => far.isAborted())
      else far.end()
      await settle()
      assert.equal(sink.calls.at(-1), call)
      // Twice does no harm.
      sink.source?.abort()
      sink.source?.resume()
    })
  }

  test(`${name}: an abort before the head is told to the far end, and nothing comes`, async (t) => {
    const sink = new CheckingSink()
    const far = await start(t, sink)
    sink.abort()
    await waitFor('the abort at the far end', () => far.isAborted())
    await settle()
    assert.deepEqual(sink.calls, ['attach'])
  })
}

function testEnds(name: string, { start }: SourceUnderTest): void {
  test(`${name}: a failure before the head has a status for the client, one after it is the last call`, async (t) => {
    const early = new CheckingSink()
    ;(await start(t, early)).breakOff()
    await ended(early)
    assert.deepEqual(early.calls, ['attach', 'fail'])
    assert.ok((early.error?.status ?? 0) >= 500, `status ${early.error?.status}`)

    const late = new CheckingSink()
    const far = await start(t, late)
    far.head(200)
    far.chunk(Buffer.from('half of '))
    await waitFor('the first chunk', () => late.byteLength > 0)
    far.breakOff()
    await ended(late)
    assert.equal(late.calls.at(-1), 'fail')
    assert.equal(late.body.toString(), 'half of ')
  })

  test(`${name}: after the last call the source takes resume and abort, and does nothing`, async (t) => {
    const sink = new CheckingSink()
    const far = await start(t, sink)
    far.whole(200, Buffer.from('done'))
    await ended(sink)
    sink.source?.resume()
    sink.source?.abort()
    await settle()
    assert.equal(sink.body.toString(), 'done')
  })
}
