import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError } from '../src/data/api.ts'
import { PageLoader } from '../src/data/page-loader.ts'

/** A list of the server, three rows a page. The test lets each request end. */
class List {
  rows: number[]
  readonly asked: (string | number | null)[] = []
  #waiting: (() => void)[] = []
  failure: Error | undefined

  constructor(count: number) {
    this.rows = Array.from({ length: count }, (_, index) => index)
  }

  readonly ask = async (cursor: string | number | null) => {
    this.asked.push(cursor)
    await new Promise<void>((resolve) => this.#waiting.push(resolve))
    if (this.failure !== undefined) throw this.failure
    const start = Number(cursor ?? 0)
    return { rows: this.rows.slice(start, start + 3), cursor: start + 3 < this.rows.length ? start + 3 : null }
  }

  /** Ends requests until none comes any more. */
  async answer(): Promise<void> {
    for (;;) {
      await new Promise((resolve) => setImmediate(resolve))
      const waiting = this.#waiting.splice(0)
      if (waiting.length === 0) return
      for (const end of waiting) end()
    }
  }
}

function loaderOf(list: List): PageLoader<Awaited<ReturnType<List['ask']>>, number> {
  return new PageLoader(list.ask, ({ rows }) => rows)
}

test('a list is loaded page by page, and no page is asked for twice', async () => {
  const list = new List(7)
  const loader = loaderOf(list)
  void loader.refresh()
  loader.more()
  await list.answer()
  assert.deepEqual(loader.state.value.rows, [0, 1, 2], 'nothing is known of a second page before the first one')
  loader.more()
  assert.equal(loader.state.value.isLoading, true)
  loader.more()
  await list.answer()
  assert.deepEqual([loader.state.value.rows.length, loader.state.value.isLoading], [6, false])
  loader.more()
  await list.answer()
  loader.more()
  await list.answer()
  assert.deepEqual(loader.state.value.rows, list.rows)
  assert.deepEqual(list.asked, [null, 3, 6])
})

test('a refresh gets as many pages as there are, at once for the reader, and fewer when the list is shorter', async () => {
  const list = new List(9)
  const loader = loaderOf(list)
  void loader.refresh()
  await list.answer()
  loader.more()
  await list.answer()
  list.rows = list.rows.map((row) => row + 100)
  const seen: number[] = []
  loader.state.follow(({ rows }) => void seen.push(rows.length))
  void loader.refresh()
  await list.answer()
  assert.deepEqual([loader.state.value.rows, loader.state.value.cursor], [[100, 101, 102, 103, 104, 105], 6])
  assert.deepEqual(seen, [6])
  list.rows = [1]
  void loader.refresh()
  loader.more()
  await list.answer()
  assert.deepEqual([loader.state.value.rows, loader.state.value.cursor, loader.state.value.pages], [[1], null, 1])
})

test('after a failure the rows stay, and the next try begins where the last one did', async () => {
  const list = new List(7)
  const loader = loaderOf(list)
  void loader.refresh()
  await list.answer()
  list.failure = new ApiError(503, {})
  loader.more()
  await list.answer()
  const { rows, isLoading, error } = loader.state.value
  assert.deepEqual([rows, isLoading, error?.status], [[0, 1, 2], false, 503])
  list.failure = undefined
  loader.more()
  await list.answer()
  assert.deepEqual([loader.state.value.rows.length, loader.state.value.error], [6, undefined])
})
