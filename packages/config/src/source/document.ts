import type { ConfigProblem, Place } from '@svc/vhosts'
import type { Finding } from '../values/finding.ts'
import { formatPath, type KeyPath, startsWith, type Table, valueAt } from '../values/key-path.ts'

/** The source of a value: a file, a variable of the environment, an option of the command line, or none of them. */
export interface Origin {
  readonly kind: 'file' | 'environment' | 'option' | 'default'
  /** "file:line", the name of the variable or option; "" for a default. */
  readonly place: string
}

/** A part of a document that does not come from its main file. */
interface Overlay {
  readonly prefix: KeyPath
  readonly kind: Origin['kind']
  readonly place: (path: KeyPath) => Place
  /** Directory that relative paths in this part start from. */
  readonly directory: string
}

/** The data of a configuration put together from its sources, which knows where each value was written. */
export class ConfigDocument {
  /** Values of the sources, unchecked. Owned by the document and changed while it is put together. */
  readonly data: Table
  readonly #place: (path: KeyPath) => Place
  readonly #directory: string
  readonly #overlays: Overlay[] = []

  constructor(data: Table, directory: string, place: (path: KeyPath) => Place) {
    this.data = data
    this.#directory = directory
    this.#place = place
  }

  /** Notes another source of the values at and below `prefix`. Later overlays win. */
  overlay(prefix: KeyPath, directory: string, place: (path: KeyPath) => Place, kind: Origin['kind'] = 'file'): void {
    this.#overlays.unshift({ prefix, directory, place, kind })
  }

  /** Tells where a value comes from. */
  originOf(path: KeyPath): Origin {
    if (valueAt(this.data, path) === undefined) return { kind: 'default', place: '' }
    const { file, line } = this.placeOf(path)
    return { kind: this.#overlayOf(path)?.kind ?? 'file', place: line === 0 ? file : `${file}:${line}` }
  }

  placeOf(path: KeyPath): Place {
    return this.#overlayOf(path)?.place(path) ?? this.#place(path)
  }

  /** Directory that a relative path written at `path` starts from. */
  directoryOf(path: KeyPath): string {
    return this.#overlayOf(path)?.directory ?? this.#directory
  }

  problem(finding: Finding): ConfigProblem {
    const { path, message, hint } = finding
    return { ...this.placeOf(path), path: formatPath(path), message, ...(hint === undefined ? {} : { hint }) }
  }

  #overlayOf(path: KeyPath): Overlay | undefined {
    return this.#overlays.find(({ prefix }) => startsWith(path, prefix))
  }
}
