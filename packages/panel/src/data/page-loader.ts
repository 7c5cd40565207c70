import { ApiError } from './api.ts'
import { Store } from './store.ts'

/** A page of a list, as endpoints answer it. */
export interface ListPage {
  /** Null: it is the last one. */
  readonly cursor: string | number | null
}

/** The pages of a list that came so far. */
interface Loaded<Page, Row> {
  /** Undefined: none came yet. */
  readonly first: Page | undefined
  readonly rows: readonly Row[]
  readonly cursor: ListPage['cursor']
  readonly pages: number
  /** True while a further page is on its way. */
  readonly isLoading: boolean
  /** Why the last request failed; undefined: it did not. */
  readonly error: ApiError | undefined
  /** Time of the rows. */
  readonly atMs: number
}

/** Gets a list page by page. One request at a time: a page begins where the one before it ended. */
export class PageLoader<Page extends ListPage, Row> {
  readonly state = new Store<Loaded<Page, Row>>({
    first: undefined,
    rows: [],
    cursor: null,
    pages: 0,
    isLoading: false,
    error: undefined,
    atMs: 0,
  })
  readonly #ask: (cursor: ListPage['cursor']) => Promise<Page>
  readonly #rowsOf: (page: Page) => readonly Row[]
  #turn: Promise<void> = Promise.resolve()

  constructor(ask: (cursor: ListPage['cursor']) => Promise<Page>, rowsOf: (page: Page) => readonly Row[]) {
    this.#ask = ask
    this.#rowsOf = rowsOf
  }

  /** Gets as many pages anew as there are, at least the first one. Resolves also when that fails. */
  refresh(): Promise<void> {
    return this.#inTurn(async () => {
      const rows: Row[] = []
      const wanted = Math.max(1, this.state.value.pages)
      let first: Page | undefined
      let cursor: ListPage['cursor'] = null
      let pages = 0
      do {
        const page: Page = await this.#ask(cursor)
        first ??= page
        rows.push(...this.#rowsOf(page))
        cursor = page.cursor
        pages++
      } while (cursor !== null && pages < wanted)
      this.#change({ first, rows, cursor, pages, error: undefined, atMs: Date.now() })
    })
  }

  /** Gets the next page, unless one is on its way already. */
  more(): void {
    if (this.state.value.isLoading || this.state.value.cursor === null) return
    this.#change({ isLoading: true })
    void this.#inTurn(async () => {
      // A refresh before may have come to the end of the list.
      const { cursor, rows, pages } = this.state.value
      if (cursor === null) return
      const page = await this.#ask(cursor)
      this.#change({ rows: [...rows, ...this.#rowsOf(page)], cursor: page.cursor, pages: pages + 1, error: undefined })
    }).then(() => this.#change({ isLoading: false }))
  }

  #inTurn(run: () => Promise<void>): Promise<void> {
    const settled = this.#turn.then(run).catch((error: unknown) => {
      // The page was left.
      if (error instanceof DOMException && error.name === 'AbortError') return
      if (!(error instanceof ApiError)) throw error
      this.#change({ error })
    })
    this.#turn = settled.catch(() => undefined)
    return settled
  }

  #change(changes: Partial<Loaded<Page, Row>>): void {
    this.state.set({ ...this.state.value, ...changes })
  }
}
