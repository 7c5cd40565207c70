import { createServer, type Socket } from 'node:net'
import type { Cleanup } from '@svc/testkit'

/** Input of an upstream: unambiguous requests, and everything else. */
export interface Recording {
  readonly address: string
  /** Request lines, in the order in which they came. */
  readonly lines: readonly string[]
  /** Input that two parsers could read in different ways. */
  readonly violations: readonly string[]
}

const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const LINE = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+ [\x21-\x7e]+ HTTP\/1\.[01]$/

/** Takes requests apart in the strictest way there is (RFC 9112). */
class StrictReader {
  readonly #lines: string[]
  readonly #violations: string[]
  readonly #answer: (target: string) => void
  #text = ''
  #isBroken = false

  constructor(lines: string[], violations: string[], answer: (target: string) => void) {
    this.#lines = lines
    this.#violations = violations
    this.#answer = answer
  }

  push(bytes: Buffer): void {
    this.#text += bytes.toString('latin1')
    while (!this.#isBroken && this.#next());
  }

  #next(): boolean {
    const end = this.#text.indexOf('\r\n\r\n')
    if (end === -1) return false
    const [line = '', ...fields] = this.#text.slice(0, end).split('\r\n')
    const length = this.#lengthOf(line, fields)
    if (length === undefined) return false
    const bodyEnd = length === 'chunked' ? this.#chunksEnd(end + 4) : end + 4 + length
    if (bodyEnd === undefined || this.#text.length < bodyEnd) return false
    this.#text = this.#text.slice(bodyEnd)
    this.#lines.push(line)
    this.#answer(line.split(' ')[1] ?? '')
    return true
  }

  #lengthOf(line: string, fields: readonly string[]): number | 'chunked' | undefined {
    if (!LINE.test(line)) return this.#break(`request line ${JSON.stringify(line)}`)
    const found: Record<string, string[]> = {}
    for (const field of fields) {
      const colon = field.indexOf(':')
      const name = field.slice(0, colon)
      if (colon === -1 || !NAME.test(name) || /[\0\r\n]/.test(field)) return this.#break(`field ${JSON.stringify(field)}`)
      found[name.toLowerCase()] = [...(found[name.toLowerCase()] ?? []), field.slice(colon + 1).trim()]
    }
    const lengths = found['content-length'] ?? []
    const encodings = found['transfer-encoding'] ?? []
    if (found['host']?.length !== 1) return this.#break(`${found['host']?.length ?? 0} Host fields`)
    if (lengths.length + encodings.length > 1) return this.#break(`framing ${JSON.stringify([lengths, encodings])}`)
    if (encodings.length === 1) return encodings[0] === 'chunked' ? 'chunked' : this.#break(`coding ${encodings[0]}`)
    if (lengths.length === 0) return 0
    return /^\d{1,15}$/.test(lengths[0] ?? '') ? Number(lengths[0]) : this.#break(`length ${lengths[0]}`)
  }

  /** Returns the end of the chunks that begin there, or undefined if they are incomplete or malformed. */
  #chunksEnd(from: number): number | undefined {
    for (let at = from; ; ) {
      const lineEnd = this.#text.indexOf('\r\n', at)
      if (lineEnd === -1) return undefined
      const size = this.#text.slice(at, lineEnd)
      if (!/^[0-9a-f]{1,8}$/.test(size)) return this.#break(`chunk size ${JSON.stringify(size)}`)
      const bytes = Number.parseInt(size, 16)
      const end = lineEnd + 2 + bytes + 2
      if (this.#text.length < end) return undefined
      if (this.#text.slice(end - 2, end) !== '\r\n') return this.#break('a chunk that ends wrong')
      if (bytes === 0) return end
      at = end
    }
  }

  #break(what: string): undefined {
    this.#isBroken = true
    this.#violations.push(what)
  }
}

/** Starts an upstream that answers each request with its target, and writes down everything that is not beyond doubt. */
export async function startRecording(t: Cleanup): Promise<Recording> {
  const lines: string[] = []
  const violations: string[] = []
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    const reader = new StrictReader(lines, violations, (target) => {
      const body = `<${target}>`
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
    })
    socket.on('data', (bytes: Buffer) => reader.push(bytes))
    socket.on('error', () => undefined)
    socket.on('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const bound = server.address()
  return { address: `127.0.0.1:${typeof bound === 'object' ? bound?.port : 0}`, lines, violations }
}
