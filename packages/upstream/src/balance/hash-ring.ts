import { crc32 } from 'node:zlib'
import type { Peer } from './peer.ts'

/** Points of a server of weight 1. */
const POINTS = 160
/** How many points of the ring are looked at before the choice is made by weight. */
const MAX_STEPS = 20

interface Point {
  readonly hash: number
  /** The server as it is written. */
  readonly name: string
}

/** Servers on a ring of hashes (ketama), with the points of nginx: a key stays with its server when others come and go. */
export class HashRing {
  readonly #points: readonly Point[]

  constructor(peers: readonly Peer[]) {
    const points = peers.flatMap((peer) => pointsOf(nameOf(peer), peer.spec.weight))
    points.sort((a, b) => a.hash - b.hash)
    this.#points = points.filter(({ hash }, place) => place === 0 || hash !== points[place - 1]?.hash)
  }

  /**
   * The servers with the name that a key leads to first. None: it leads to none that may be chosen.
   * @param candidates those that may be chosen
   */
  find(key: string, candidates: readonly Peer[]): readonly Peer[] {
    const points = this.#points
    const first = this.#placeOf(crc32(Buffer.from(key, 'latin1')))
    for (let step = 0; step <= MAX_STEPS && points.length > 0; step++) {
      const name = points[(first + step) % points.length]?.name
      const found = candidates.filter((peer) => nameOf(peer) === name)
      if (found.length > 0) return found
    }
    return []
  }

  /** The first point that is not below a hash. */
  #placeOf(hash: number): number {
    let [from, to] = [0, this.#points.length]
    while (from < to) {
      const middle = (from + to) >> 1
      if (hash > (this.#points[middle]?.hash ?? 0)) from = middle + 1
      else to = middle
    }
    return from
  }
}

function nameOf({ spec }: Peer): string {
  return spec.written ?? spec.address
}

function pointsOf(name: string, weight: number): Point[] {
  const [, socket, host = name, port = ''] = /^(?:unix:(.*)|(.*):(\d*))$/i.exec(name) ?? []
  const base = crc32(`${socket ?? host}\0${socket === undefined ? port : ''}`)
  const before = Buffer.alloc(4)
  return Array.from({ length: weight * POINTS }, () => {
    const hash = crc32(before, base)
    before.writeUInt32LE(hash)
    return { hash, name }
  })
}
