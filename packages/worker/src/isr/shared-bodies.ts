import type { StoredEntry } from '@svc/cache'
import { type Encode, encodeWhole, type RealCoding } from '../compression/index.ts'

/** Maximum number of bodies that are indexed; past it the oldest one is copied again when it is requested again. */
const MAX_BODIES = 1_024

/**
 * Bodies of stored responses that outlive their turn, because they are compressed or their client is slow: all clients of the
 * same body share one copy of it, and one of each coding. Otherwise many slow clients of one large page would take its size each. Nothing
 * stays in memory without a user: it goes with the next garbage collection.
 */
export class SharedBodies {
  readonly #encode: Encode
  readonly #bodies = new Map<string, WeakRef<Buffer>>()
  readonly #encodings = new WeakMap<Uint8Array, Map<RealCoding, Promise<Uint8Array>>>()

  constructor(encode: Encode = encodeWhole) {
    this.#encode = encode
  }

  /** The body of an entry, in memory that does not change. */
  keep({ label, path, body }: Pick<StoredEntry, 'label' | 'path' | 'body'>): Buffer {
    const name = `${label}\0${path}\0${body.byteLength}`
    const known = this.#bodies.get(name)?.deref()
    // The name may stand for another entry of the path, and a later one: only the bytes tell.
    if (known?.equals(body) === true) return known
    const kept = Buffer.allocUnsafeSlow(body.byteLength)
    kept.set(body)
    this.#bodies.delete(name)
    this.#bodies.set(name, new WeakRef(kept))
    const oldest = this.#bodies.size > MAX_BODIES ? this.#bodies.keys().next().value : undefined
    if (oldest !== undefined) this.#bodies.delete(oldest)
    return kept
  }

  /** A body that `keep` has given, compressed; the result is others' too. */
  encode(coding: RealCoding, body: Uint8Array): Promise<Uint8Array> {
    const known = this.#encodings.get(body)
    const found = known?.get(coding)
    if (found !== undefined) return found
    const made = this.#encode(coding, body)
    const encodings = known ?? new Map<RealCoding, Promise<Uint8Array>>()
    encodings.set(coding, made)
    this.#encodings.set(body, encodings)
    // The next caller tries again; earlier callers learn of the failure from the promise.
    made.catch(() => encodings.delete(coding))
    return made
  }
}
