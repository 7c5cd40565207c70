import { entryOf } from './map-entries.ts'

/** The owner of a queued item: a client of a lane. */
export interface QueueOwner {
  /** Lanes take turns. */
  readonly lane: object
  /** Within a lane, clients take turns. */
  readonly client: string
}

/** A queue whose lanes take turns, so that a full lane delays no other. */
export class FairQueue<Item> {
  readonly #maxItems: number
  /** In the order of their turns; none is empty. */
  readonly #lanes = new Map<object, Map<string, Item[]>>()
  #size = 0

  /** @param maxItems that wait at a time, in all lanes together */
  constructor(maxItems: number) {
    this.#maxItems = maxItems
  }

  /** Adds an item to the end of its client's. @returns the item that lost its place for it, if all are taken; this may be the item itself */
  add(item: Item, { lane, client }: QueueOwner): Item | undefined {
    const clients = entryOf(this.#lanes, lane, () => new Map<string, Item[]>())
    entryOf(clients, client, (): Item[] => []).push(item)
    this.#size++
    if (this.#size <= this.#maxItems) return undefined
    const longest = mostOf(this.#lanes, lane, countOf)
    const busiest = mostOf(longest.value, longest.value === clients ? client : undefined, (items) => items.length)
    const lost = busiest.value.pop()
    this.#taken(longest, busiest)
    return lost
  }

  /** Takes out the item whose turn it is. */
  next(): Item | undefined {
    for (const [lane, clients] of this.#lanes) {
      for (const [client, items] of clients) {
        const item = items.shift()
        // A client that had a turn goes to the end of the queue.
        clients.delete(client)
        this.#lanes.delete(lane)
        clients.set(client, items)
        this.#lanes.set(lane, clients)
        this.#taken({ key: lane, value: clients }, { key: client, value: items })
        return item
      }
    }
    return undefined
  }

  #taken(lane: Entry<object, Map<string, Item[]>>, client: Entry<string, Item[]>): void {
    this.#size--
    if (client.value.length === 0) lane.value.delete(client.key)
    if (lane.value.size === 0) this.#lanes.delete(lane.key)
  }
}

interface Entry<Key, Value> {
  readonly key: Key
  readonly value: Value
}

function countOf<Item>(clients: ReadonlyMap<string, readonly Item[]>): number {
  let count = 0
  for (const items of clients.values()) count += items.length
  return count
}

/** The entry that counts most; among those that count as much `preferred`, else the last in turn. Of a map that is not empty. */
function mostOf<Key, Value>(map: ReadonlyMap<Key, Value>, preferred: Key | undefined, count: (value: Value) => number) {
  let most: (Entry<Key, Value> & { readonly count: number }) | undefined
  for (const [key, value] of map) {
    const counted = count(value)
    if (most === undefined || counted > most.count || (counted === most.count && most.key !== preferred)) {
      most = { key, value, count: counted }
    }
  }
  return most as Entry<Key, Value>
}
