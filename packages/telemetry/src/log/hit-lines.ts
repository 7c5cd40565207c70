import { type AccessEntry, MAX_VALUE_CHARS, withoutQuery } from './access-entry.ts'
import { isoClock, quotedText } from './access-line.ts'
import type { LineQueue } from './line-queue.ts'
import { REQUEST_ID_LENGTH, type RequestIds } from './request-id.ts'

/** Values of this many paths and user agents are remembered. */
const MAX_REMEMBERED = 256
const TIME_LENGTH = 24
const CLIENT_LABEL = Buffer.from(',"cache":"l0-hit","client":"')
/** More than the digits of a duration, the longest address and what stands between them. */
const OTHER_BYTES = 128
const MAX_CLIENT_CHARS = 64
const MAX_DURATION_US = 1e12
const ZERO = 0x30
const POINT = 0x2e

/** The values of a line. */
type HitValues = Pick<
  AccessEntry,
  'startedAt' | 'site' | 'method' | 'path' | 'status' | 'bytes' | 'durationMs' | 'client' | 'userAgent'
>

/** The part of a line that is the same for all requests for one entry. */
interface RequestPart {
  readonly site: string
  readonly method: string
  readonly status: number
  readonly bytes: number
  readonly json: Buffer
}

/** Writes the digits of a number. @returns the offset behind them */
function putInteger(target: Uint8Array, at: number, value: number): number {
  let size = 1
  for (let rest = value; rest >= 10; rest = Math.floor(rest / 10)) size++
  for (let i = at + size - 1, rest = value; i >= at; i--) {
    target[i] = ZERO + (rest % 10)
    rest = Math.floor(rest / 10)
  }
  return at + size
}

/** Writes microseconds as milliseconds, without zeros at the end. @returns the offset behind them */
function putMilliseconds(target: Uint8Array, at: number, us: number): number {
  const end = putInteger(target, at, Math.floor(us / 1000))
  const fraction = us % 1000
  if (fraction === 0) return end
  target[end] = POINT
  target[end + 1] = ZERO + Math.floor(fraction / 100)
  target[end + 2] = ZERO + (Math.floor(fraction / 10) % 10)
  target[end + 3] = ZERO + (fraction % 10)
  if (fraction % 100 === 0) return end + 2
  return fraction % 10 === 0 ? end + 3 : end + 4
}

/** True for texts that JSON leaves as they are. */
function isPlain(text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code < 0x20 || code >= 0x7f || code === 0x22 || code === 0x5c) return false
  }
  return true
}

function remember<T>(values: Map<string, T>, key: string, value: T): T {
  if (values.size >= MAX_REMEMBERED) values.clear()
  values.set(key, value)
  return value
}

/**
 * Writes JSON access lines of responses from L0 as bytes, each with a new request id. Most of such a line is the same as in lines of
 * before; to put it together as a text costs a third of the whole response.
 */
export class HitLines {
  readonly #queue: LineQueue
  readonly #ids: RequestIds
  readonly #iso = isoClock()
  /** Up to the request id, with the time of the last line. */
  readonly #head: Buffer
  readonly #timeAt: number
  #lastMs = -1
  readonly #requests = new Map<string, RequestPart>()
  readonly #agents = new Map<string, Buffer>()

  /** @param prefix begins each line, for the reader of the queue */
  constructor(queue: LineQueue, prefix: string, ids: RequestIds) {
    this.#queue = queue
    this.#ids = ids
    const before = Buffer.from(`${prefix}{"time":"`)
    this.#timeAt = before.byteLength
    this.#head = Buffer.concat([before, Buffer.alloc(TIME_LENGTH), Buffer.from('","request_id":"')])
  }

  /** Queues the line of a request. @returns false if it is one that this cannot write */
  write(entry: HitValues): boolean {
    const { client, path, userAgent } = entry
    const us = Math.round(entry.durationMs * 1000)
    if (!(us >= 0 && us < MAX_DURATION_US) || path.length > MAX_VALUE_CHARS || userAgent.length > MAX_VALUE_CHARS) return false
    if (client.length > MAX_CLIENT_CHARS || !isPlain(client)) return false
    const request = this.#requestPart(entry)
    const agent = this.#agents.get(userAgent) ?? remember(this.#agents, userAgent, agentPart(userAgent))
    const head = this.#headAt(Math.floor(entry.startedAt))
    const size = head.byteLength + REQUEST_ID_LENGTH + request.byteLength + agent.byteLength + OTHER_BYTES
    const block = this.#queue.reserve(size)
    if (block === undefined) return true
    const { bytes } = block
    let at = block.end
    bytes.set(head, at)
    at += head.byteLength
    this.#ids.put(bytes, at)
    at += REQUEST_ID_LENGTH
    bytes.set(request, at)
    at = putMilliseconds(bytes, at + request.byteLength, us)
    bytes.set(CLIENT_LABEL, at)
    at += CLIENT_LABEL.byteLength
    for (let i = 0; i < client.length; i++) bytes[at++] = client.charCodeAt(i)
    bytes.set(agent, at)
    this.#queue.commit(at + agent.byteLength)
    return true
  }

  #headAt(ms: number): Buffer {
    if (ms !== this.#lastMs) {
      this.#lastMs = ms
      this.#head.write(this.#iso(ms), this.#timeAt, 'latin1')
    }
    return this.#head
  }

  #requestPart({ path, site, method, status, bytes }: HitValues): Buffer {
    const last = this.#requests.get(path)
    if (last !== undefined && last.status === status && last.bytes === bytes && last.method === method && last.site === site) {
      return last.json
    }
    const json = Buffer.from(
      `","site":${quotedText(site)},"method":${quotedText(method)},"path":${quotedText(withoutQuery(path))},"status":${status},"bytes":${bytes},"duration_ms":`,
    )
    remember(this.#requests, path, { site, method, status, bytes, json })
    return json
  }
}

function agentPart(userAgent: string): Buffer {
  return Buffer.from(`","user_agent":${quotedText(userAgent)}}\n`)
}
