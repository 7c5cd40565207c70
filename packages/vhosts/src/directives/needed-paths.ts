import { formatPlace, type Place } from '../syntax/config-problem.ts'

/** The kind of a path: the socket of an upstream, a `root`, an `alias` (file or directory), a file of passwords. */
export type NeedKind = 'socket' | 'root' | 'alias' | 'passwords'

/** A path that requests will need. It need not be there when the configuration is read. */
export interface NeededPath {
  readonly kind: NeedKind
  /** As characters. */
  readonly path: string
  /** Where it is written first: a key, or a place in a vhost file. */
  readonly place: string
}

/** Collects paths without variables that requests will need, each once for what it has to be. */
export class NeededPaths {
  readonly #paths = new Map<string, NeededPath>()

  add(kind: NeedKind, path: string, place: Place): void {
    const key = `${kind} ${path}`
    if (!this.#paths.has(key)) this.#paths.set(key, { kind, path, place: formatPlace(place) })
  }

  get all(): NeededPath[] {
    return [...this.#paths.values()]
  }
}
