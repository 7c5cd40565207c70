import type { Template } from '../spec/spec.ts'
import { formatPlace, type Place } from '../syntax/config-problem.ts'
import { decodeBytes } from '../syntax/source-file.ts'
import { isConstant, leadingText } from '../values/template.ts'

/**
 * The kind of a path: the socket of an upstream, a `root`, an `alias` (file or directory), a file of passwords, a file of certificates or
 * keys for upstreams.
 */
export type NeedKind = 'socket' | 'root' | 'alias' | 'passwords' | 'certificates'

/** A path that requests will need. It need not be there when the configuration is read. */
export interface NeededPath {
  readonly kind: NeedKind
  /** As characters. */
  readonly path: string
  /** Its first place: a key, or a place in a vhost file. */
  readonly place: string
}

/** Collects paths without variables that requests will need, each once for each kind. */
export class NeededPaths {
  readonly #paths = new Map<string, NeededPath>()

  add(kind: NeedKind, path: string, place: Place): void {
    const key = `${kind} ${path}`
    if (!this.#paths.has(key)) this.#paths.set(key, { kind, path, place: formatPlace(place) })
  }

  /** Adds a path if it has no variables. */
  addTemplate(kind: NeedKind, path: Template | undefined, place: Place): void {
    if (path !== undefined && isConstant(path)) this.add(kind, decodeBytes(leadingText(path)), place)
  }

  /** Adds the socket of an upstream. Other addresses need nothing of this machine. */
  addSocket(address: string, place: Place): void {
    if (address.startsWith('unix:')) this.add('socket', address.slice('unix:'.length), place)
  }

  get all(): NeededPath[] {
    return [...this.#paths.values()]
  }
}
