// Joins a store and does what its parent asks for, while it reads all the time.
import { EntryStore } from '../../src/index.ts'
import { factsOf, purgeOf } from '../entries.ts'
import { roomy } from './store-fixture.ts'

/** A request of the parent. */
export type Question =
  | { readonly kind: 'read'; readonly key: string }
  | { readonly kind: 'put'; readonly key: string; readonly seq: number }
  | { readonly kind: 'purge'; readonly number: number }

/** The `seq` of the entry that was read; null when there was none, or when nothing was asked about one. */
export type Answer = { readonly seq: number | null }

const store = await EntryStore.join(roomy(process.argv[2] ?? ''))
if (store.problem !== undefined) throw new Error(store.problem)

async function answer(question: Question): Promise<Answer> {
  switch (question.kind) {
    case 'read':
      store.refresh()
      return { seq: store.get(question.key)?.seq ?? null }
    case 'put':
      await store.put(question.key, factsOf({ seq: question.seq }), Buffer.alloc(2_000))
      return { seq: null }
    case 'purge':
      await store.purge(purgeOf(question.number, { kind: 'everything' }))
      return { seq: null }
  }
}

function readOn(): void {
  store.get('a')
  setImmediate(readOn)
}

process.on('message', (question: Question) => {
  answer(question).then(
    (reply) => process.send?.(reply),
    (error: unknown) => {
      throw error
    },
  )
})
process.on('disconnect', () => process.exit(0))
readOn()
process.send?.({ seq: null })
