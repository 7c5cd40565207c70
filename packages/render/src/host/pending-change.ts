/** More files than these are taken for: anything may have changed. */
const MAX_FILES = 5_000

/** Changes of a site's files that are taken in together, since the first of them waits for its turn. */
export class PendingChange<Result> {
  readonly done: Promise<Result>
  #files: readonly string[]

  /** @param take runs when it is the change's turn, with all files that have come until then; none: anything may have changed */
  constructor(files: readonly string[], take: (files: () => readonly string[]) => Promise<Result>) {
    this.#files = bounded(files)
    this.done = take(() => this.#files)
  }

  add(files: readonly string[]): void {
    const isAny = files.length === 0 || this.#files.length === 0
    this.#files = isAny ? [] : bounded([...new Set([...this.#files, ...files])])
  }
}

function bounded(files: readonly string[]): readonly string[] {
  return files.length > MAX_FILES ? [] : files
}
