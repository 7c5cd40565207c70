/** Size and times of a file, for telling whether it changed. */
export interface FileStamp {
  readonly size: number
  /** Modification and change time in nanoseconds, as decimal text. */
  readonly mtime: string
  readonly ctime: string
}

/** What was last known of a source path. */
export interface IndexEntry extends FileStamp {
  readonly path: string
  /** Name of its compiled source. */
  readonly hash: string
  /** Specifier -> module id. */
  readonly imports: Readonly<Record<string, string>>
}

/** An entry as text: two lines of JSON, what identifies it and its imports. */
export function formatEntry({ path, hash, size, mtime, ctime, imports }: IndexEntry): string {
  return `${JSON.stringify({ path, hash, size, mtime, ctime })}\n${JSON.stringify(imports)}`
}

/** What `formatEntry` wrote. The imports are parsed when somebody asks: an unchanged file is resolved without them. */
export class StoredEntry implements IndexEntry {
  readonly path: string
  readonly hash: string
  readonly size: number
  readonly mtime: string
  readonly ctime: string
  readonly #imports: string

  constructor(text: string) {
    const headEnd = text.indexOf('\n')
    const head = JSON.parse(text.slice(0, headEnd)) as Omit<IndexEntry, 'imports'>
    this.path = head.path
    this.hash = head.hash
    this.size = head.size
    this.mtime = head.mtime
    this.ctime = head.ctime
    this.#imports = text.slice(headEnd + 1)
  }

  get imports(): Readonly<Record<string, string>> {
    return JSON.parse(this.#imports) as Record<string, string>
  }
}
