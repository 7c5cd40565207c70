import type { Endpoint, EndpointEvents, EventSink } from '@svc/admin'
import type { Caller } from '@svc/auth'
import { asError, type Clock } from '@svc/core'
import type { BodyWriter, ResponseHead } from '@svc/http'
import type { RevocationList } from '../../access/revocation-list.ts'
import { sendError } from '../../request/error-response.ts'
import type { RequestContext } from '../../request/request-context.ts'
import { callerOf, refusalOf } from './endpoint-access.ts'

/** Proxies and browsers take a connection for dead that says nothing for a minute. */
const HEARTBEAT_MS = 15_000
/** Streams of one worker. Each costs memory here and a reader in the master. */
const MAX_STREAMS = 32
/** Of one user, so that one does not take the places of all others. */
const MAX_STREAMS_OF_USER = 8

const heartbeat = Buffer.from(':\n\n')
const head: ResponseHead = {
  status: 200,
  headers: [
    ['content-type', 'text/event-stream'],
    ['cache-control', 'no-store'],
    ['x-content-type-options', 'nosniff'],
    // nginx, and proxies that follow it, would wait for a full buffer.
    ['x-accel-buffering', 'no'],
  ],
}

/** Dependencies of `EventAnswers`. */
interface EventAnswersParts {
  readonly revocations: RevocationList
  readonly clock: Pick<Clock, 'after'>
  /** Number of the generation in service. */
  readonly generation: () => number
}

/**
 * The streams of events that endpoints send. One ends when its client leaves or takes nothing for a while, when the credentials of its
 * request count no more, and at a reload, which may have changed the rights of its user: clients connect again by themselves. Drains
 * end it with the streams of sites.
 */
export class EventAnswers {
  readonly #parts: EventAnswersParts
  /** With the name of the user of each. */
  readonly #open = new Map<ClientEvents, string>()

  constructor(parts: EventAnswersParts) {
    this.#parts = parts
    parts.revocations.listeners.add(() => this.#check())
  }

  /** Answers a request whose caller may call the endpoint. */
  answer(context: RequestContext, endpoint: Endpoint, caller: Caller, { events }: EndpointEvents): void {
    if (context.request.method === 'HEAD') {
      context.respond(head)
      return
    }
    const username = caller.kind === 'user' ? caller.user.username : ''
    const ofUser = [...this.#open.values()].filter((name) => name === username).length
    if (this.#open.size >= MAX_STREAMS || ofUser >= MAX_STREAMS_OF_USER) {
      const limit = `a worker sends at most ${MAX_STREAMS} streams of events, and ${MAX_STREAMS_OF_USER} to one user`
      const detail = `${limit}: close pages of the panel, or clients, that follow streams, and connect again`
      sendError(context, { status: 503, code: 'too_many_streams', detail }, [['retry-after', '10']])
      return
    }
    context.mayCompress = false
    const stream = new ClientEvents(context.streamCompressed(head), this.#parts.clock, () => {
      void this.#checkOne(context, endpoint, stream)
    })
    this.#open.set(stream, username)
    const stop = events(stream)
    context.onClosed(() => {
      this.#open.delete(stream)
      stream.close()
      stop()
    })
  }

  #check(): void {
    for (const stream of this.#open.keys()) stream.check()
  }

  async #checkOne(context: RequestContext, endpoint: Endpoint, stream: ClientEvents): Promise<void> {
    try {
      const { revocations, generation } = this.#parts
      const isSame = generation() === context.generation.number
      if (!isSame || refusalOf(context, endpoint, await callerOf(context, endpoint, revocations)) !== undefined) stream.end()
    } catch (error) {
      context.reportFailure(asError(error), 500)
      stream.end()
    }
  }
}

/** One stream on its way to its client. */
class ClientEvents implements EventSink {
  readonly check: () => void
  readonly #writer: BodyWriter
  readonly #clock: Pick<Clock, 'after'>
  #cancelBeat: () => void
  #isOver = false
  /** `stalled`: it takes nothing since before the last heartbeat. */
  #client: 'taking' | 'full' | 'stalled' = 'taking'
  #missing = 0

  constructor(writer: BodyWriter, clock: Pick<Clock, 'after'>, check: () => void) {
    this.check = check
    this.#writer = writer
    this.#clock = clock
    writer.onDrain(() => this.#drained())
    this.#cancelBeat = clock.after(HEARTBEAT_MS, () => this.#beat())
  }

  send(data: unknown, type?: string): void {
    if (this.#client !== 'taking') this.#missing++
    else this.#write(Buffer.from(`${type === undefined ? '' : `event: ${type}\n`}data: ${JSON.stringify(data)}\n\n`))
  }

  dropped(count: number): void {
    if (this.#client !== 'taking') this.#missing += count
    else this.send({ count }, 'dropped')
  }

  end(): void {
    if (this.#isOver) return
    this.close()
    this.#writer.end()
  }

  /** The exchange has ended. */
  close(): void {
    this.#isOver = true
    this.#cancelBeat()
  }

  #write(bytes: Uint8Array): void {
    if (!this.#isOver && !this.#writer.write(bytes)) this.#client = 'full'
  }

  #drained(): void {
    this.#client = 'taking'
    const missing = this.#missing
    this.#missing = 0
    if (missing > 0) this.dropped(missing)
  }

  #beat(): void {
    if (this.#isOver) return
    if (this.#client === 'stalled') {
      this.close()
      this.#writer.abort()
      return
    }
    if (this.#client === 'full') this.#client = 'stalled'
    else this.#write(heartbeat)
    this.#cancelBeat = this.#clock.after(HEARTBEAT_MS, () => this.#beat())
    this.check()
  }
}
