import { ByteReader, ByteWriter } from './byte-codec.ts'
import { HeavyHitters } from './heavy-hitters.ts'
import type { TrafficTotals } from './traffic-totals.ts'

const MAX_PATH_CHARS = 256
/** A host name has at most 253. */
const MAX_ORIGIN_CHARS = 270
const MAX_ADDRESS_CHARS = 45

/** The most frequent paths, referrers and clients of a site. */
export class TopLists {
  /** Without queries. */
  readonly paths: HeavyHitters
  /** Origins. */
  readonly referrers: HeavyHitters
  /** Addresses. */
  readonly clients: HeavyHitters

  /** @param maxNames names that each list watches */
  constructor(maxNames: number) {
    this.paths = new HeavyHitters({ maxNames, maxChars: MAX_PATH_CHARS })
    this.referrers = new HeavyHitters({ maxNames, maxChars: MAX_ORIGIN_CHARS })
    this.clients = new HeavyHitters({ maxNames, maxChars: MAX_ADDRESS_CHARS })
  }

  get #lists(): readonly HeavyHitters[] {
    return [this.paths, this.referrers, this.clients]
  }

  clear(): void {
    for (const list of this.#lists) list.clear()
  }

  add({ paths, referrers, clients }: TopLists): void {
    this.paths.addAll(paths)
    this.referrers.addAll(referrers)
    this.clients.addAll(clients)
  }

  encode(writer: ByteWriter, maxNames: number): void {
    for (const list of this.#lists) list.encode(writer, maxNames)
  }

  addEncoded(reader: ByteReader): void {
    for (const list of this.#lists) if (!reader.isAtEnd) list.addEncoded(reader)
  }
}

/** The traffic of one site in some time. */
export interface SiteTraffic {
  readonly site: string
  readonly totals?: TrafficTotals | undefined
  readonly tops?: TopLists | undefined
}

/** Writes the traffic of sites into bytes: for the master, and for its files. */
export class TrafficWriter {
  readonly #maxNames: number
  readonly #bytes = new ByteWriter()
  readonly #part = new ByteWriter()

  /** @param maxNames names of each list that are written */
  constructor(maxNames: number) {
    this.#maxNames = maxNames
  }

  /** Bytes so far. */
  get length(): number {
    return this.#bytes.length
  }

  add({ site, totals, tops }: SiteTraffic): void {
    this.#bytes.text(site)
    this.#part.clear()
    totals?.encode(this.#part)
    this.#bytes.section(this.#part)
    this.#part.clear()
    tops?.encode(this.#part, this.#maxNames)
    this.#bytes.section(this.#part)
  }

  /** Returns the bytes so far and restarts. */
  take(): Buffer {
    const bytes = this.#bytes.copy()
    this.#bytes.clear()
    return bytes
  }
}

/** The traffic of one site as it was written. */
export interface WrittenTraffic {
  readonly site: string
  /** At its end: there are none. */
  readonly totals: ByteReader
  readonly tops: ByteReader
}

/** Shows each record of the bytes of a `TrafficWriter`. @throws CORE_PROTOCOL for other bytes */
export function readTraffic(bytes: Uint8Array, visit: (traffic: WrittenTraffic) => void): void {
  const reader = new ByteReader(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength))
  while (!reader.isAtEnd) visit({ site: reader.text(), totals: reader.section(), tops: reader.section() })
}
