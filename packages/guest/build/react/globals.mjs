// Globals that React's server build expects, replaced inside React's bundle only.
const settled = Promise.resolve()

/** The build writes plain strings to a "direct" stream: its source is the whole stream. */
export class ReadableStream {
  #source
  /** Set by React. */
  allReady

  constructor(source) {
    this.#source = source
  }

  pull(sink) {
    this.#source.pull(sink)
  }

  cancel(reason) {
    this.#source.cancel(reason)
  }
}

/** Looks `then` up at each call: it keeps the context of the request. */
export function queueMicrotask(task) {
  void settled.then(task)
}

/**
 * React's only delay is 0, to let work of this turn finish first. Two hops of the microtask queue do that without leaving the
 * isolate, so that a page without pending data is done within one entry of the host.
 */
export function setTimeout(task) {
  void settled.then(() => settled.then(() => task()))
}

export const Buffer = {
  /** Bytes of UTF-8; React asks for it only to cut large pages into pieces. */
  byteLength(text) {
    let bytes = text.length
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i)
      if (code > 0x7ff && (code < 0xd800 || code > 0xdfff)) bytes += 2
      else if (code > 0x7f) bytes++
    }
    return bytes
  },
}

export const Bun = {
  /** FNV-1a with 32 bits: names form state, needs to be stable only. */
  hash(text) {
    let hash = 0x811c9dc5
    for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
    return hash >>> 0
  },
}
