import { HostMatcher, type HostMatchKind } from '@svc/http'
import type { ServerNameSpec } from '../spec/spec.ts'
import { type CaptureSink, Pattern } from './pattern.ts'

/** A server of one listen address. */
export interface ServerEntry<Server> {
  readonly names: readonly ServerNameSpec[]
  readonly isDefault: boolean
  readonly value: Server
}

/** A server, and how it was found. */
interface ServerMatch<Server> {
  readonly value: Server
  readonly kind: HostMatchKind | 'pattern'
}

/**
 * The servers of one listen address. Exact names, then the longest `*.suffix`, then the longest `prefix.*`, then regular
 * expressions in their order, then the default, else the first.
 */
export class ServerTable<Server> {
  readonly #hosts: HostMatcher<Server>
  readonly #patterns: Array<{ readonly pattern: Pattern; readonly match: ServerMatch<Server> }> = []

  constructor(entries: readonly ServerEntry<Server>[]) {
    this.#hosts = new HostMatcher(
      entries.map(({ names, isDefault, value }) => ({
        hostnames: names.flatMap((name) => (name.kind === 'name' ? [name.name] : [])),
        isDefault,
        value,
      })),
    )
    for (const { names, value } of entries) {
      for (const name of names) {
        if (name.kind === 'pattern')
          this.#patterns.push({ pattern: new Pattern(name.pattern), match: { value, kind: 'pattern' } })
      }
    }
  }

  /** @param hostname as `parseHost` gives it; "" without one. Captures go to `sink`. */
  match(hostname: string, sink: CaptureSink): ServerMatch<Server> | undefined {
    const found = this.#hosts.match(hostname)
    if (this.#patterns.length === 0 || hostname === '' || (found !== undefined && found.kind !== 'default')) return found
    return this.#patterns.find(({ pattern }) => pattern.test(hostname, sink))?.match ?? found
  }
}
