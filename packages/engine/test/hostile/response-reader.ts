/** Takes a byte stream apart into responses (RFC 9112 section 6.3), strictly: what is no response throws. */
export class ResponseReader {
  /** Statuses of the complete responses so far. */
  readonly statuses: number[] = []
  readonly #heads: readonly number[]
  #buffer = ''
  #all = ''

  /** @param heads indexes of responses that have no body, being answers to HEAD */
  constructor(heads: readonly number[]) {
    this.#heads = heads
  }

  /** Everything received, as latin-1. */
  get text(): string {
    return this.#all
  }

  push(data: Buffer): void {
    const text = data.toString('latin1')
    this.#buffer += text
    this.#all += text
    while (this.#takeResponse(false)) {
      // All complete responses are taken.
    }
  }

  /** The connection has ended: a body without framing is complete. */
  end(): void {
    this.#takeResponse(true)
  }

  #takeResponse(isEnded: boolean): boolean {
    const headEnd = this.#buffer.indexOf('\r\n\r\n')
    if (headEnd === -1) return false
    const head = this.#buffer.slice(0, headEnd)
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(head)?.[1] ?? Number.NaN)
    if (Number.isNaN(status)) throw new Error(`no response: ${JSON.stringify(this.#buffer.slice(0, 200))}`)
    const end = this.#bodyEnd(head, headEnd + 4, status, isEnded)
    if (end === -1) return false
    this.statuses.push(status)
    this.#buffer = this.#buffer.slice(end)
    return this.#buffer !== ''
  }

  /** Index behind the body, or -1 when it is not complete. */
  #bodyEnd(head: string, start: number, status: number, isEnded: boolean): number {
    const finals = this.statuses.filter((one) => one >= 200).length
    if (status < 200 || status === 204 || status === 304 || this.#heads.includes(finals)) return start
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1]
    if (length !== undefined) return this.#buffer.length >= start + Number(length) ? start + Number(length) : -1
    if (/\r\ntransfer-encoding: *chunked/i.test(head)) return this.#chunksEnd(start)
    return isEnded ? this.#buffer.length : -1
  }

  #chunksEnd(start: number): number {
    for (let at = start; ; ) {
      const lineEnd = this.#buffer.indexOf('\r\n', at)
      if (lineEnd === -1) return -1
      const line = this.#buffer.slice(at, lineEnd)
      if (!/^[0-9a-f]+$/i.test(line)) throw new Error(`no chunk size: ${JSON.stringify(line)}`)
      const size = Number.parseInt(line, 16)
      at = lineEnd + 2 + size + 2
      if (this.#buffer.length < at) return -1
      if (this.#buffer.slice(at - 2, at) !== '\r\n') throw new Error('no line end behind a chunk')
      if (size === 0) return at
    }
  }
}
